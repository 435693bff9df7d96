// Package horizon composes a Horizon: a stateless web site that is a client of the other services.
package horizon

import (
	"fmt"
	"slices"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Horizon composite resources.
func New() function.Runner {
	return function.Kind[horizonv1.Horizon, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

// definition is the part that all Horizons have in common. It has no database, no user and no catalog entry, and Django reads its settings.
var definition = service.Definition{
	App:    horizonv1.ServiceName,
	Title:  "Horizon",
	Outage: "the dashboard is unavailable; the APIs are not affected",
	Port:   horizonv1.Port,
	Module: "openstack_dashboard.wsgi:application",
	// The page calls no other service.
	HealthPath:             "/auth/login/",
	TerminationGracePeriod: 30 * time.Second,
	RequiresHostHeader:     true,
	WithoutOsloConfig:      true,
}

// graph lists the components of a service that is only a client of others.
var graph = service.Graph(compose.Graph[*model]{
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.Config[*model]("credentials"),
	service.API[*model]([]string{"config", "certificate"}),
	service.Exposure[*model]("certificate"),
	service.Alerts[*model](),
})

// keySecret is the Secret, and the volume, of the key that signs sessions and forms. Losing it ends all sessions.
const keySecret = "secret-key"

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec *horizonv1.HorizonSpec
}

func derive(in function.Input[horizonv1.Horizon]) (*model, error) {
	m := &model{spec: &in.XR.Spec}
	var err error
	if m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.Spec{
			ServiceSpec: &common.ServiceSpec{ServiceBase: m.spec.ServiceBase}, Workload: &m.spec.Workload, UWSGI: &m.spec.UWSGI,
			Identity: &common.Identity{KeystoneReference: m.spec.Identity},
		},
	}); err != nil {
		return nil, err
	}
	x, err := m.extension()
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(x)
	return m, err
}

// extension returns the additions of a Horizon.
func (m *model) extension() (service.Extension, error) {
	egress, err := m.services()
	if err != nil {
		return service.Extension{}, err
	}
	files, err := m.extraFiles()
	if err != nil {
		return service.Extension{}, err
	}
	server := m.Server
	server.Static = map[string]string{assetsPath: assetsFolder}
	server.MIMEFile = m.Path(typesFile)
	server.Headers = m.headers()
	return service.Extension{
		Config: service.Configuration{Files: files},
		API: service.APIPods{
			Server: &server, Volumes: []service.Volume{m.keyVolume(), assetsVolume()}, Env: append(slices.Clone(environment), m.CacheEnv()),
		},
		Network: service.Network{APIEgress: egress},
		Access: service.Access{Accounts: []service.Account{
			{Resource: keySecret, Secret: m.Sub(keySecret), User: "django"}, m.CacheAccount(),
		}},
	}, nil
}

func (m *model) keyVolume() service.Volume {
	return m.SecretVolume(keySecret, m.Sub(keySecret), secret.PasswordKey)
}

// services returns egress to the services that Horizon calls for users, by their ports. Egress to Keystone is common to all services.
func (m *model) services() ([]workload.Flow, error) {
	flow := workload.Flow{}
	for i, s := range m.spec.Services {
		port, err := workload.PortOf(string(s.InternalURL))
		if err != nil {
			return nil, invalid.Field(fmt.Sprintf("spec.services[%d].internalURL", i), "%s", err)
		}
		if s.Type != horizonv1.TypeIdentity {
			flow.Ports = append(flow.Ports, port)
		}
	}
	if len(flow.Ports) == 0 { // An empty list would allow all ports.
		return nil, nil
	}
	return []workload.Flow{flow}, nil
}

func status(m *model, plan compose.Plan) any {
	return horizonv1.HorizonStatus{ServiceStatus: m.Status(plan)}
}
