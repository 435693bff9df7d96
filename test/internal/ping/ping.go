//go:build linux

// Package ping counts the replies of an address, for suites that cause failures meanwhile.
package ping

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// protocol is ICMP's number (https://www.iana.org/assignments/protocol-numbers).
const protocol = 1

// ids are the identifiers of pingers.
var ids atomic.Int32

// A Pinger pings an address regularly, and counts the replies.
type Pinger struct {
	conn  *icmp.PacketConn
	id    int
	stop  chan struct{}
	ended sync.WaitGroup

	mu       sync.Mutex
	sent     []time.Time
	received map[int]time.Time
	failed   error
}

// interval is the interval of pings.
const interval = 100 * time.Millisecond

// Start pings an IPv4 address until End. It requires permission for raw sockets.
func Start(address string) (*Pinger, error) {
	conn, err := icmp.ListenPacket("ip4:icmp", "0.0.0.0")
	if err != nil {
		return nil, err
	}
	p := &Pinger{conn: conn, id: int(ids.Add(1)), stop: make(chan struct{}), received: map[int]time.Time{}}
	p.ended.Go(p.listen)
	p.ended.Go(func() {
		every := time.NewTicker(interval)
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

func (p *Pinger) send(address string) {
	p.mu.Lock()
	number := len(p.sent)
	p.sent = append(p.sent, time.Now())
	p.mu.Unlock()
	message := icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: p.id, Seq: number, Data: []byte("guest")}}
	packet, err := message.Marshal(nil)
	if err == nil {
		_, err = p.conn.WriteTo(packet, &net.IPAddr{IP: net.ParseIP(address)})
	}
	if err != nil { // such as no route, as long as ARP requests are not answered
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
	}
}

func (p *Pinger) listen() {
	packet := make([]byte, 1500)
	for {
		n, _, err := p.conn.ReadFrom(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			continue
		}
		message, err := icmp.ParseMessage(protocol, packet[:n])
		if err != nil || message.Type != ipv4.ICMPTypeEchoReply {
			continue
		}
		if echo, ok := message.Body.(*icmp.Echo); ok && echo.ID == p.id {
			p.mu.Lock()
			p.received[echo.Seq] = time.Now()
			p.mu.Unlock()
		}
	}
}

// Answered returns the number of answered pings.
func (p *Pinger) Answered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.received)
}

// Result is the number of pings that were sent and lost, and the longest time without a reply.
type Result struct {
	Sent, Lost int
	Gap        time.Duration
}

func (r Result) String() string {
	return fmt.Sprintf("%d of %d pings lost, the longest gap %.1f s", r.Lost, r.Sent, r.Gap.Seconds())
}

// End stops the Pinger, after a delay for the last replies.
func (p *Pinger) End() Result {
	close(p.stop)
	time.Sleep(time.Second)
	_ = p.conn.Close()
	p.ended.Wait()
	out := Result{Sent: len(p.sent)}
	last := p.sent[0]
	for i, at := range p.sent {
		if _, ok := p.received[i]; ok {
			last = at
			continue
		}
		out.Lost++
		out.Gap = max(out.Gap, at.Sub(last)+interval)
	}
	return out
}

// Once returns an error unless an address replies in time.
func Once(address string, within time.Duration) error {
	p, err := Start(address)
	if err != nil {
		return err
	}
	defer func() {
		close(p.stop)
		_ = p.conn.Close()
		p.ended.Wait()
	}()
	for start := time.Now(); stopwatch.Since(start) < within; time.Sleep(interval / 2) {
		if p.Answered() > 0 {
			return nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s does not answer (%w)", address, errors.Join(p.failed, os.ErrDeadlineExceeded))
}

// During pings an address while do runs. The result includes the replies shortly after.
func During(address string, do func()) (Result, error) {
	p, err := Start(address)
	if err != nil {
		return Result{}, err
	}
	for start := time.Now(); p.Answered() < 5 && stopwatch.Since(start) < time.Minute; {
		time.Sleep(interval)
	}
	do()
	time.Sleep(2 * time.Second)
	return p.End(), nil
}
