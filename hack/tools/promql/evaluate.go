package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A question is an expression, and the series that there are at one moment.
type question struct {
	Expr   string `json:"expr"`
	Series []struct {
		Labels map[string]string `json:"labels"`
		Value  float64           `json:"value"`
	} `json:"series"`
}

// evaluate answers each question of a list, as JSON: the labels of what an alert would be raised for.
func evaluate(in io.Reader, out io.Writer) error {
	var questions []question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return fmt.Errorf("cannot read the questions: %w", err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	now := time.Unix(1_000_000, 0)
	answers := make([][]map[string]string, len(questions))
	for i, q := range questions {
		m := memory{}
		for _, s := range q.Series {
			m = append(m, series{labels.FromMap(s.Labels), sample{now.UnixMilli(), s.Value}})
		}
		query, err := engine.NewInstantQuery(context.Background(), m, nil, q.Expr, now)
		if err != nil {
			return fmt.Errorf("%s: %w", q.Expr, err)
		}
		vector, err := query.Exec(context.Background()).Vector()
		if err != nil {
			return fmt.Errorf("%s: %w", q.Expr, err)
		}
		answers[i] = []map[string]string{}
		for _, s := range vector {
			answers[i] = append(answers[i], s.Metric.Map())
		}
	}
	return json.NewEncoder(out).Encode(answers)
}

// memory is a store of series with one sample each.
type memory []series

type series struct {
	labels labels.Labels
	sample sample
}

type sample struct {
	at    int64
	value float64
}

// T, F, H, FH, Type and Copy are a sample as chunks hold it.
func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func (m memory) Querier(int64, int64) (storage.Querier, error) { return querier{m}, nil }

type querier struct{ memory memory }

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, s := range q.memory {
		matches := true
		for _, m := range matchers {
			matches = matches && m.Matches(s.labels.Get(m.Name))
		}
		if matches {
			found = append(found, storage.NewListSeries(s.labels, []chunks.Sample{s.sample}))
		}
	}
	return &set{found: found}
}

func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) Close() error { return nil }

type set struct {
	found []storage.Series
	next  int
}

func (s *set) Next() bool                        { s.next++; return s.next <= len(s.found) }
func (s *set) At() storage.Series                { return s.found[s.next-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
