package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// results holds every figure of every round, by figure and server.
type results struct {
	targets []string
	order   []string
	values  map[string]map[string][]float64
}

func newResults(targets []string) *results {
	return &results{targets: targets, values: map[string]map[string][]float64{}}
}

func (r *results) add(figure, target string, v float64) {
	if r.values[figure] == nil {
		r.order = append(r.order, figure)
		r.values[figure] = map[string][]float64{}
	}
	r.values[figure][target] = append(r.values[figure][target], v)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func (r *results) print(w io.Writer, o options) {
	fmt.Fprintf(w, "medians of %d rounds, %d MB each, (min to max)\n", o.rounds, o.mb)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "figure")
	for _, t := range r.targets {
		fmt.Fprintf(tw, "\t%s", t)
	}
	fmt.Fprintln(tw, "\tottla/kafka")
	for _, f := range r.order {
		fmt.Fprint(tw, f)
		for _, t := range r.targets {
			if v := r.values[f][t]; len(v) > 0 {
				fmt.Fprintf(tw, "\t%.4g (%.3g to %.3g)", median(v), slices.Min(v), slices.Max(v))
			} else {
				fmt.Fprint(tw, "\t")
			}
		}
		if a, b := r.values[f]["ottla"], r.values[f]["kafka"]; len(a) > 0 && len(b) > 0 && median(b) > 0 {
			fmt.Fprintf(tw, "\t%.3f", median(a)/median(b))
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}
