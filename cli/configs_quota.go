package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// quotaType is the name of an entity type in requests about quotas.
func quotaType(entityType string) string {
	switch entityType {
	case entityUsers:
		return "user"
	case entityClients:
		return "client-id"
	}
	return "ip"
}

// quotas asks for the quotas of exactly these entities: a type without a name stands for all of its type.
func (c *cluster) quotas(types, names []string) ([]kmsg.DescribeClientQuotasResponseEntry, error) {
	if len(names) > len(types) {
		return nil, plainf("More entity names specified than entity types")
	}
	const exact, def, anyName = 0, 1, 2
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Strict = true
	for i, t := range types {
		part := kmsg.NewDescribeClientQuotasRequestComponent()
		part.EntityType, part.MatchType = quotaType(t), anyName
		switch {
		case i < len(names) && names[i] == "":
			part.MatchType = def
		case i < len(names):
			part.MatchType, part.Match = exact, kmsg.StringPtr(names[i])
		}
		req.Components = append(req.Components, part)
	}
	resp, err := request[*kmsg.DescribeClientQuotasResponse](c, "describeClientQuotas", req)
	if err == nil {
		err = coded(resp.ErrorCode, resp.ErrorMessage)
	}
	if err != nil {
		return nil, asExecution(err)
	}
	return resp.Entries, nil
}

func describeQuotas(e *env, c *cluster, types, names []string) error {
	entries, err := c.quotas(types, names)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		var who, what []string
		for _, t := range []string{"user", "client-id", "ip"} {
			for _, part := range entry.Entity {
				if part.Type != t {
					continue
				}
				label := t
				if t == "user" {
					label = "user-principal"
				}
				if part.Name == nil {
					who = append(who, "the default "+label)
				} else {
					who = append(who, label+" '"+*part.Name+"'")
				}
			}
		}
		slices.SortFunc(entry.Values, func(a, b kmsg.DescribeClientQuotasResponseEntryValue) int { return cmp.Compare(a.Key, b.Key) })
		for _, v := range entry.Values {
			what = append(what, v.Key+"="+javaDouble(v.Value, 64))
		}
		e.printf("Quota configs for %s are %s\n", strings.Join(who, ", "), strings.Join(what, ", "))
	}
	return nil
}

// alterQuotas changes and removes quotas. Only those that are there can be removed.
func alterQuotas(c *cluster, types, names []string, add clientConfig, drop []string) error {
	entries, err := c.quotas(types, names)
	if err != nil {
		return err
	}
	var have []string
	if len(entries) > 0 {
		for _, v := range entries[0].Values {
			have = append(have, v.Key)
		}
	}
	if odd := unknownKeys(drop, have); len(odd) > 0 {
		return plainf("Invalid config(s): %s", strings.Join(odd, ","))
	}
	alter := kmsg.NewAlterClientQuotasRequestEntry()
	for i, t := range types {
		part := kmsg.NewAlterClientQuotasRequestEntryEntity()
		part.Type = quotaType(t)
		if names[i] != "" {
			part.Name = kmsg.StringPtr(names[i])
		}
		alter.Entity = append(alter.Entity, part)
	}
	for _, k := range keys(add) {
		v, err := strconv.ParseFloat(add[k], 64)
		if err != nil {
			return plainf("Cannot parse quota configuration value for %s: %s", k, add[k])
		}
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Value = k, v
		alter.Ops = append(alter.Ops, op)
	}
	for _, k := range drop {
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Remove = k, true
		alter.Ops = append(alter.Ops, op)
	}
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Entries = append(req.Entries, alter)
	resp, err := request[*kmsg.AlterClientQuotasResponse](c, "alterClientQuotas", req)
	if err != nil {
		return asExecution(err)
	}
	for _, r := range resp.Entries {
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			return asExecution(err)
		}
	}
	return nil
}
