//go:build linux

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// probe probes the readiness of the containers, until the context ends: first by their startup probes, then by their
// readiness probes. A pod is ready when all of its containers are.
func (p *pod) probe(ctx context.Context) { //nolint:gocognit // one loop over what kubelet looks at
	for i := range p.object.Spec.Containers {
		if !p.started(ctx, i) {
			return
		}
	}
	for failures := 0; ctx.Err() == nil; {
		ready, why := true, error(nil)
		period, limit := time.Second, int32(1)
		for i := range p.object.Spec.Containers {
			if probe := p.object.Spec.Containers[i].ReadinessProbe; probe != nil {
				if err := p.runProbe(ctx, i, probe); err != nil {
					ready, why = false, err
				}
				period, limit = interval(probe), max(probe.FailureThreshold, 1)
			}
		}
		ready = ready && p.alive()
		if failures++; ready {
			failures = 0
		}
		if is := ready || (p.ready.Load() && failures < int(limit)); is != p.ready.Swap(is) && ctx.Err() == nil {
			p.updateStatus(ctx, corev1.PodRunning, "")
			if !is && !p.stopping.Load() {
				fmt.Fprintf(p.cluster.Progress, "cluster: pod %s is not ready any more: %v\n", p.object.Name, why)
			}
		}
		if !p.ready.Load() {
			period = min(period, time.Second)
		}
		select {
		case <-ctx.Done():
		case <-time.After(period):
		}
	}
}

// started waits until a container has started.
func (p *pod) started(ctx context.Context, i int) bool {
	probe := p.object.Spec.Containers[i].StartupProbe
	for probe != nil && (!p.alive() || p.runProbe(ctx, i, probe) != nil) {
		select {
		case <-ctx.Done():
			return false
		case <-p.stop:
			return false
		case <-time.After(min(interval(probe), time.Second/2)): // more often than a kubelet, so that tests wait less
		}
	}
	return true
}

// revive ends a container whose liveness probe reaches its failure threshold, so that it is restarted, until the
// context ends.
func (p *pod) revive(ctx context.Context, i int) {
	container := &p.object.Spec.Containers[i]
	probe := container.LivenessProbe
	if probe == nil || !p.restarts() {
		return
	}
	var started *sandbox.Container
	for failures := int32(0); !p.wait(interval(probe)) && ctx.Err() == nil; {
		c := p.container(i)
		if c == nil {
			continue
		}
		if c != started && !p.started(ctx, i) {
			return
		}
		err := p.runProbe(ctx, i, probe)
		if failures++; c != started || err == nil {
			started, failures = c, 0
		}
		if failures < max(probe.FailureThreshold, 1) || p.stopping.Load() {
			continue
		}
		fmt.Fprintf(p.cluster.Progress, "cluster: container %s of pod %s is restarted: %v\n", container.Name, p.object.Name, err)
		c.Stop(p.grace())
	}
}

func (p *pod) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.containers {
		if c == nil || !c.Running() {
			return false
		}
	}
	return true
}

func interval(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
}

// runProbe runs one probe of the i-th container.
func (p *pod) runProbe(ctx context.Context, i int, probe *corev1.Probe) error {
	// Machines that run tests are busier than nodes: probes may take longer here.
	const leniency = 4
	ctx, cancel := context.WithTimeout(ctx, leniency*time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		h := probe.HTTPGet
		scheme := "http"
		if h.Scheme == corev1.URISchemeHTTPS {
			scheme = "https"
		}
		url := fmt.Sprintf("%s://%s%s", scheme, net.JoinHostPort(p.address, strconv.Itoa(portOf(p.object, h.Port))), h.Path)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		for _, header := range h.HTTPHeaders {
			if request.Header.Add(header.Name, header.Value); header.Name == "Host" {
				request.Host = header.Value
			}
		}
		response, err := prober.Do(request)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode < 200 || response.StatusCode > 399 {
			return fmt.Errorf("%s responded with %s", url, response.Status)
		}
		return nil
	case probe.Exec != nil:
		return p.exec(ctx, i, probe.Exec.Command)
	case probe.TCPSocket != nil:
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(p.address, strconv.Itoa(portOf(p.object, probe.TCPSocket.Port))))
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return fmt.Errorf("a probe of pod %s is of a kind that the fake cluster does not support", p.object.Name)
}

// prober does not look at certificates, as kubelet does not.
var prober = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // kubelet's way
}}

// replicasOf returns the replicas of a workload.
func replicasOf(n *int32) int { return int(ptr.Deref(n, 1)) }
