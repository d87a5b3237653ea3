package config

import (
	"fmt"
	"slices"
	"strings"
)

// parseVoters reads the entries of controller.quorum.voters, id@host:port. A later entry of an id wins.
func parseVoters(list []string) ([]Voter, error) {
	var out []Voter
	for _, s := range list {
		id, address, _ := strings.Cut(s, "@")
		n, okID := parseWhole(id, 32)
		host, port, okAddress := splitHostPort(address)
		if !okID || n < 0 || !okAddress {
			return nil, fmt.Errorf("%s is not id@host:port", s)
		}
		if host == anyAddress {
			return nil, fmt.Errorf("nobody can connect to %s", s)
		}
		v := Voter{int32(n), host, port}
		if i := slices.IndexFunc(out, func(have Voter) bool { return have.ID == v.ID }); i >= 0 {
			out[i] = v
		} else {
			out = append(out, v)
		}
	}
	return out, nil
}

// quorum reads how the controllers are found.
func (l *loader) quorum() error {
	s := l.static
	text := l.text("controller.quorum.voters")
	voters, err := parseVoters(splitList(text))
	if err != nil {
		return fmt.Errorf("controller.quorum.voters=%s: %w", text, err)
	}
	s.Voters = voters
	s.Bootstrap = splitList(l.text("controller.quorum.bootstrap.servers"))
	if len(voters) == 0 && len(s.Bootstrap) == 0 {
		return fmt.Errorf("controller.quorum.bootstrap.servers is missing: name at least one controller as host:port, or set controller.quorum.voters")
	}
	if len(voters) > 0 && s.Roles.Controller && !slices.ContainsFunc(voters, func(v Voter) bool { return v.ID == s.NodeID }) {
		return fmt.Errorf("controller.quorum.voters=%s: this controller, node.id=%d, must be one of them", text, s.NodeID)
	}
	if join, _ := parseBool(l.text("controller.quorum.auto.join.enable")); join && !s.Roles.Controller {
		return fmt.Errorf("controller.quorum.auto.join.enable=true: allowed with process.roles=%s is false", l.set["process.roles"])
	}
	return nil
}
