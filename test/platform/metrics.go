package platform

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// CircuitOpenings is how often Crossplane's circuit breakers have opened since the platform started.
func (p *Platform) CircuitOpenings(ctx context.Context) (int, error) {
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
		if !strings.HasPrefix(lines.Text(), "circuit_breaker_opens_total{") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[strings.LastIndex(lines.Text(), " ")+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read Crossplane's metrics: %w", err)
		}
		sum += value
	}
	return int(sum), lines.Err()
}
