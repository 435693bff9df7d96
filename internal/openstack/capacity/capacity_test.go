package capacity

import (
	"testing"
	"time"
)

// TestLimitsFitTogether checks the order of the limits for each row, with the default and with other timeouts.
func TestLimitsFitTogether(t *testing.T) {
	for key, p := range profiles {
		for reason, options := range map[string]Timeouts{
			"The defaults.":     Defaults,
			"Longer time-outs.": {RPC: 10 * time.Minute, LongRPC: 2 * time.Hour, OVN: time.Hour},
		} {
			for _, requested := range []time.Duration{0, 10 * time.Second, 10 * time.Hour} {
				longest, harakiri, proxy := p.Longest(options), p.Harakiri(options, requested), p.ProxyTimeout(options, requested)
				if connect := p.Limits(options, requested).Connect; connect < LoadTime || (!p.Streams && connect >= proxy) {
					t.Errorf("%v: a proxy waits %s for a slot, want %s at least and less than %s", key, connect, LoadTime, proxy)
				}
				if silence := max(proxy, p.Limits(options, requested).Silence); p.Hung(options, requested) <= silence {
					t.Errorf("%v: %s a request hangs after %s, want more than the %s of a proxy", key, reason, p.Hung(options, requested), silence)
				}
				if p.Streams {
					if longest != 0 || harakiri != 0 || proxy != 0 {
						t.Errorf("%v: %s a stream has limits: %s, %s, %s", key, reason, longest, harakiri, proxy)
					}
					continue
				}
				if longest < options.RPC*time.Duration(p.Calls)+options.LongRPC*time.Duration(p.LongCalls)+options.OVN*time.Duration(p.OVNCalls)+50*time.Second {
					t.Errorf("%v: %s longest %s does not cover the request's calls", key, reason, longest)
				}
				if LoadTime >= proxy {
					t.Errorf("%v: %s requests are given up after %s, before a server is broken", key, reason, proxy)
				}
				if harakiri <= longest || harakiri < requested || proxy <= harakiri {
					t.Errorf("%v: %s want %s < %s < %s, and at least %s", key, reason, longest, harakiri, proxy, requested)
				}
			}
		}
	}
}

func TestLongestRequestDependsOnProcess(t *testing.T) {
	for key, tc := range map[process]struct {
		reason string
		want   time.Duration
	}{
		{"keystone", API}:    {"It calls nothing by RPC.", time.Minute},
		{"nova", API}:        {"An attachment waits for nova-compute.", 33 * time.Minute},
		{"nova", "metadata"}: {"It waits for the database of a cell.", 2 * time.Minute},
		{"neutron", API}:     {"It waits for OVN, too.", 5 * time.Minute},
		{"heat", "cfn"}:      {"It calls an engine twice.", 3 * time.Minute},
		{"glance", API}:      {"A transfer takes as long as its client likes.", 0},
		{"other", API}:       {"A process without a row has an ordinary one.", 2 * time.Minute},
	} {
		if got := Of(key.app, key.name).Longest(Defaults); got != tc.want {
			t.Errorf("%v: %s longest = %s, want %s", key, tc.reason, got, tc.want)
		}
	}
	if Known("other", API) || !Known("heat", "cfn") {
		t.Error("Known does not report the rows of the table")
	}
}

func TestPause(t *testing.T) {
	if got := (Profile{Streams: true}).Pause(); got != StreamPause {
		t.Errorf("a stream's client may pause for %s, want %s", got, StreamPause)
	}
	if got := (Profile{}).Pause(); got != RequestPause {
		t.Errorf("a request's client may pause for %s, want %s", got, RequestPause)
	}
}
