//go:build openstack && linux

package openstack

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
)

// icmpProtocol is ICMP's number (https://www.iana.org/assignments/protocol-numbers).
const icmpProtocol = 1

// pingIDs are numbers of those who ping.
var pingIDs atomic.Int32

// A pinger pings an address regularly, and counts what comes back.
type pinger struct {
	conn  *icmp.PacketConn
	id    int
	stop  chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	sent   []time.Time
	heard  map[int]time.Time
	failed error
}

// pingEvery is how often it does.
const pingEvery = 100 * time.Millisecond

func startPinging(address string) (*pinger, error) {
	conn, err := icmp.ListenPacket("ip4:icmp", "0.0.0.0")
	if err != nil {
		return nil, err
	}
	p := &pinger{conn: conn, id: int(pingIDs.Add(1)), stop: make(chan struct{}), heard: map[int]time.Time{}}
	p.ended.Go(p.listen)
	p.ended.Go(func() {
		every := time.NewTicker(pingEvery)
		defer every.Stop()
		for {
			p.send(address)
			select {
			case <-p.stop:
				return
			case <-every.C:
			}
		}
	})
	return p, nil
}

func (p *pinger) send(address string) {
	p.mu.Lock()
	number := len(p.sent)
	p.sent = append(p.sent, time.Now())
	p.mu.Unlock()
	message := icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: p.id, Seq: number, Data: []byte("guest")}}
	packet, err := message.Marshal(nil)
	if err == nil {
		_, err = p.conn.WriteTo(packet, &net.IPAddr{IP: net.ParseIP(address)})
	}
	if err != nil { // such as no route, for as long as nobody answers to ARP
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
	}
}

func (p *pinger) listen() {
	packet := make([]byte, 1500)
	for {
		n, _, err := p.conn.ReadFrom(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			continue
		}
		message, err := icmp.ParseMessage(icmpProtocol, packet[:n])
		if err != nil || message.Type != ipv4.ICMPTypeEchoReply {
			continue
		}
		if echo, ok := message.Body.(*icmp.Echo); ok && echo.ID == p.id {
			p.mu.Lock()
			p.heard[echo.Seq] = time.Now()
			p.mu.Unlock()
		}
	}
}

// answered is how many were.
func (p *pinger) answered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

// pings are what came of it: how many were sent and lost, and the longest time in which none was answered.
type pings struct {
	sent, lost int
	gap        time.Duration
}

func (p pings) String() string {
	return fmt.Sprintf("%d of %d pings lost, the longest gap %.1f s", p.lost, p.sent, p.gap.Seconds())
}

// end stops it, after what was sent last has had time to come back.
func (p *pinger) end() pings {
	close(p.stop)
	time.Sleep(time.Second)
	_ = p.conn.Close()
	p.ended.Wait()
	out := pings{sent: len(p.sent)}
	last := p.sent[0]
	for i, at := range p.sent {
		if _, ok := p.heard[i]; ok {
			last = at
			continue
		}
		out.lost++
		out.gap = max(out.gap, at.Sub(last)+pingEvery)
	}
	return out
}

// ping asks once whether an address answers.
func ping(address string, within time.Duration) error {
	p, err := startPinging(address)
	if err != nil {
		return err
	}
	defer func() {
		close(p.stop)
		_ = p.conn.Close()
		p.ended.Wait()
	}()
	for begin := time.Now(); time.Since(begin) < within; time.Sleep(pingEvery / 2) {
		if p.answered() > 0 {
			return nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s does not answer (%w)", address, errors.Join(p.failed, os.ErrDeadlineExceeded))
}

// pinged runs something while an address is pinged, and tells what came of it.
func pinged(t *testing.T, address string, during func()) pings {
	t.Helper()
	p, err := startPinging(address)
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); p.answered() < 5 && time.Since(begin) < time.Minute; {
		time.Sleep(pingEvery)
	}
	during()
	time.Sleep(2 * time.Second) // what comes right after counts, too
	return p.end()
}
