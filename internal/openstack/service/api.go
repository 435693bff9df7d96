package service

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
)

// buildAPI builds the API: its workload, Service, disruption budget and network policy.
func buildAPI[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	outbound, err := s.Outbound()
	if err != nil {
		return nil, err
	}
	w := s.Workload
	svc := w.Service(workload.Port(portName, s.Port))
	stage := compose.Stage{
		{Name: s.pods()},
		{Name: serviceResource, Object: svc},
		{Name: "disruption-budget", Object: w.DisruptionBudget()},
		{Name: "network-policy", Object: w.NetworkPolicy(s.Inbound(), append(outbound, s.extension.Network.APIEgress...))},
	}
	if s.Stateful {
		stage[0].Object = w.StatefulSet(m.APIPod(), s.extension.API.Claims...)
		stage = append(stage, compose.Resource{Name: "pods", Object: w.HeadlessService(workload.Port(portName, s.Port))})
	} else {
		pods := w.Deployment(m.APIPod())
		if s.NeedsCutover {
			s.cutover.roll(pods, svc)
		}
		stage[0].Object = pods
	}
	return []compose.Stage{stage}, nil
}

// server returns the uWSGI server of the API, which serves HTTPS itself.
func (b *Base) server() workload.UWSGI {
	return b.serve(capacity.API, b.Module, b.Port, b.Spec.UWSGI.Processes)
}

// serve returns a uWSGI server for a WSGI module.
func (b *Base) serve(process, module string, port, processes int32) workload.UWSGI {
	address := ""
	if b.Spec.IPFamily == common.IPv6 {
		// This address also accepts IPv4 clients. It is not the default, because uWSGI does not start with it on nodes
		// whose kernel has no IPv6.
		address = "[::]"
	}
	profile := capacity.Of(b.App, process)
	return workload.UWSGI{
		Module: module,
		Listen: fmt.Sprintf("%s:%d", address, port),
		Health: workload.HealthEndpoint{
			Address: fmt.Sprintf("%s:%d", address, workload.HealthPort), File: b.Path(workload.HealthFile),
			Hung: profile.Hung(b.timeouts, b.harakiri()), Absent: capacity.LoadTime,
		},
		CertFile:               b.Path(serverTLS, certificate.CertKey),
		KeyFile:                b.Path(serverTLS, certificate.KeyKey),
		Processes:              processes,
		Threads:                b.Spec.UWSGI.Threads,
		Harakiri:               profile.Harakiri(b.timeouts, b.harakiri()),
		Pause:                  profile.Pause(),
		TerminationGracePeriod: b.TerminationGracePeriod,
		Uploads:                profile.Streams,

		HeaderBytes: capacity.ServerHeaderBytes,
		Backlog:     capacity.Backlog,
	}
}

// harakiri returns the request timeout of the spec. 0: derived by the capacity model.
func (b *Base) harakiri() time.Duration {
	return time.Duration(b.Spec.UWSGI.HarakiriSeconds) * time.Second
}

// ProxyTimeout returns the time after which a proxy aborts a request to the API. 0: never.
func (b *Base) ProxyTimeout() time.Duration {
	return capacity.Of(b.App, capacity.API).ProxyTimeout(b.timeouts, b.harakiri())
}

// limits returns the limits of proxies in front of a process.
func (b *Base) limits(process string) exposure.Limits {
	return capacity.Of(b.App, process).Limits(b.timeouts, b.harakiri())
}

// deriveTimeouts reads the timeouts of calls from the tenant's options. Options that are not set keep the defaults.
func (b *Base) deriveTimeouts() error {
	b.timeouts = capacity.Defaults
	if b.WithoutOsloConfig {
		return nil
	}
	over, err := override.Options(b.App, string(b.Effective), b.Spec.Overrides, "spec", b.Spec.Groups...)
	if err != nil {
		return err
	}
	for _, o := range []struct {
		group, option string
		into          *time.Duration
	}{
		{"DEFAULT", "rpc_response_timeout", &b.timeouts.RPC},
		{"DEFAULT", "long_rpc_timeout", &b.timeouts.LongRPC},
		{"ovn", "ovsdb_connection_timeout", &b.timeouts.OVN},
	} {
		value, ok := over[o.group][o.option]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(fmt.Sprint(value), 10, 32)
		if err != nil {
			return fmt.Errorf("cannot read [%s] %s as seconds: %w", o.group, o.option, err)
		}
		*o.into = time.Duration(n) * time.Second
	}
	return nil
}

// VolumeClaims returns the volume claims of the pods of a stateful API. Existing claims are not changed.
func (b *Base) VolumeClaims(observed observe.State, claims ...workload.Claim) ([]workload.Claim, error) {
	pods, _ := observed.Get(b.pods())
	fixed, err := workload.Fixed(pods.List("spec", "volumeClaimTemplates"), claims...)
	if err != nil {
		return nil, invalid.Field("spec", "%s", err)
	}
	return fixed, nil
}

// Inbound returns the allowed clients of the API: users through the namespaces of the exposure, services of the same
// namespace, and pods of other clusters through the public address.
func (s *Service) Inbound() []workload.Flow { return s.inbound(s.Port, s.Spec.Exposure) }

func (s *Service) inbound(port int32, e *common.ServiceExposure) []workload.Flow {
	ports := []int32{port}
	from := exposure.Namespaces(e)
	if len(from) == 0 {
		return []workload.Flow{{Anywhere: true, Ports: ports}}
	}
	flows := []workload.Flow{{Ports: ports}, {Namespaces: from, Ports: ports}}
	if clients := s.extension.Network.Clients; len(clients) > 0 {
		flows = append(flows, workload.Flow{Namespaces: clients, Ports: ports})
	}
	return flows
}

// Outbound returns the egress of the pods: the database, the queue, the cache and Keystone, if the service uses them, and
// the extension's Egress.
func (s *Service) Outbound() ([]workload.Flow, error) { return s.outbound(true) }

// outbound returns the same egress, for pods that do not connect to Keystone without it.
func (s *Service) outbound(keystone bool) ([]workload.Flow, error) {
	var ports []int32
	var out []workload.Flow
	server := func(pods map[string]string, port int32) {
		if pods == nil {
			ports = append(ports, port)
			return
		}
		out = append(out, workload.Flow{Pods: pods, Ports: []int32{port}})
	}
	switch db := s.Spec.Database; {
	case len(s.Databases) == 0:
	case db.SharedAs != "":
		out = append(out, workload.Flow{Anywhere: true, Ports: []int32{db.Port}})
	default:
		server(s.extension.Network.DatabasePods, db.Port)
	}
	own := func(more ...int32) {
		for _, port := range more {
			if !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	switch q := s.Spec.Queue; {
	case !s.Queue:
	case q.SharedAs != "":
		out = append(out, workload.Flow{Anywhere: true, Ports: []int32{q.Port}})
	default:
		server(s.extension.Network.QueuePods, q.Port)
	}
	for i, address := range s.Spec.Cache.Servers {
		port, err := workload.PortOf("memcached://" + string(address))
		if err != nil {
			return nil, invalid.Field(fmt.Sprintf("spec.cache.servers[%d]", i), "%s", err)
		}
		own(port)
	}
	if id := s.Spec.Identity; id != nil && keystone {
		flow, err := ToKeystone(&id.KeystoneReference)
		if err != nil {
			return nil, err
		}
		if !flow.Anywhere {
			own(flow.Ports...)
		} else {
			out = append(out, flow)
		}
	}
	if len(ports) > 0 { // An empty list would allow all ports.
		out = append([]workload.Flow{{Ports: ports}}, out...)
	}
	return append(out, s.extension.Network.Egress...), nil
}

// ToKeystone returns the egress to Keystone: its port on the pods of the control plane or, for an external Keystone, on any
// address.
func ToKeystone(k *common.KeystoneReference) (workload.Flow, error) {
	port, err := workload.PortOf(string(k.InternalURL))
	if err != nil {
		return workload.Flow{}, invalid.Field("spec.identity.internalURL", "%s", err)
	}
	return workload.Flow{Anywhere: k.SharedAs != "", Ports: []int32{port}}, nil
}
