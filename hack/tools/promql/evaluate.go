package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A question is an alert and its input series, as in promtool's tests of rules
// (https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/): a sample a minute.
type question struct {
	// Expr and For are the fields of the alert.
	Expr string `json:"expr"`
	For  string `json:"for"`
	// Series, each with its values: `up{job="a"} 1x10 0x20`.
	Series []string `json:"series"`
	// Start is the start of the series after 1970, and At, relative to Start, the time of the evaluation.
	Start string `json:"start"`
	At    string `json:"at"`
}

const step = time.Minute

// evaluate evaluates each question of a list and returns, as JSON, the labels of the firing alerts.
func evaluate(in io.Reader, out io.Writer) error {
	var questions []question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return fmt.Errorf("cannot read the questions: %w", err)
	}
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute, Parser: p})
	responses := make([][]map[string]string, len(questions))
	for i, q := range questions {
		firing, err := q.answer(engine, p)
		if err != nil {
			return fmt.Errorf("%s: %w", q.Expr, err)
		}
		responses[i] = firing
	}
	return json.NewEncoder(out).Encode(responses)
}

func (q question) answer(engine *promql.Engine, p parser.Parser) ([]map[string]string, error) {
	start, err := duration(q.Start)
	if err != nil {
		return nil, err
	}
	at, err := duration(q.At)
	if err != nil {
		return nil, err
	}
	pending, err := duration(q.For)
	if err != nil {
		return nil, err
	}
	from := time.Unix(0, 0).Add(start)
	m := memory{}
	for _, text := range q.Series {
		l, values, err := p.ParseSeriesDesc(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		s := series{labels: l}
		for i, v := range values {
			if !v.Omitted {
				s.samples = append(s.samples, sample{from.Add(time.Duration(i) * step).UnixMilli(), v.Value})
			}
		}
		m = append(m, s)
	}
	query, err := engine.NewRangeQuery(context.Background(), m, nil, q.Expr, from, from.Add(at), step)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	matrix, err := query.Exec(context.Background()).Matrix()
	if err != nil {
		return nil, err
	}
	firing := []map[string]string{}
	for _, s := range matrix {
		// Active now, and without a gap for as long as the alert waits.
		next := from.Add(at).UnixMilli()
		for i := len(s.Floats) - 1; i >= 0 && s.Floats[i].T == next; i-- {
			next -= step.Milliseconds()
		}
		if active := from.Add(at).UnixMilli() - next - step.Milliseconds(); active >= pending.Milliseconds() {
			firing = append(firing, s.Metric.Map())
		}
	}
	return firing, nil
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := model.ParseDuration(text)
	return time.Duration(d), err
}

// memory is a store of series.
type memory []series

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
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
			found = append(found, storage.NewListSeries(s.labels, s.samples))
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
