package platform

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// CircuitOpenings returns how often Crossplane's circuit breakers have opened since the platform started.
func (p *Platform) CircuitOpenings(ctx context.Context) (int, error) {
	return p.metric(ctx, "circuit_breaker_opens_total{")
}

// metric returns the sum of Crossplane's metrics with a prefix that contain given texts.
func (p *Platform) metric(ctx context.Context, prefix string, with ...string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.crossplane.metrics, http.NoBody)
	if err != nil {
		return 0, err
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("cannot read Crossplane's metrics: %w", err)
	}
	defer rsp.Body.Close() //nolint:errcheck // it was read to its end
	sum := 0.0
	lines := bufio.NewScanner(rsp.Body)
	for lines.Scan() {
		name, value, found := cutLast(lines.Text(), " ")
		if !found || !strings.HasPrefix(name, prefix) || !containsAll(name, with) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read Crossplane's metrics: %w", err)
		}
		sum += v
	}
	return int(sum), lines.Err()
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
