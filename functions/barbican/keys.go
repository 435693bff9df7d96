package barbican

import (
	_ "embed"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Programs that pods run, as files beside the configuration.
var (
	// keysScript gives Barbican the keys, and becomes the program that it is told.
	//
	//go:embed keys.sh
	keysScript string
	// rewrapScript encrypts the keys of projects with the primary key.
	//
	//go:embed rewrap.sh
	rewrapScript string
	// vaultScript becomes the program that it is told when a Vault gives back what it is given.
	//
	//go:embed vault.py
	vaultScript string
	// pipelines are what a request goes through.
	//
	//go:embed barbican-api-paste.ini
	pipelines string
)

// Names of these files.
const (
	keysFile   = "keys.sh"
	rewrapFile = "rewrap.sh"
	vaultFile  = "vault.py"
	// pipelinesFile is where Barbican looks for it, and nowhere else.
	pipelinesFile = "barbican-api-paste.ini"
)

func (m *model) programs() []service.ExtraFile {
	pages := []service.ExtraFile{
		{Name: pipelinesFile, Text: pipelines}, {Name: keysFile, Text: keysScript}, {Name: rewrapFile, Text: rewrapScript},
	}
	if m.spec.Vault != nil {
		pages = append(pages, service.ExtraFile{Name: vaultFile, Text: vaultScript})
	}
	return pages
}

// keysName ends the name of the Secret with the keys, and names the volume and the folder that they are mounted in. configFolder is that of
// further configuration, where Barbican looks for itself (https://docs.openstack.org/oslo.config/latest/reference/locations.html).
const (
	keysName     = "keys"
	configFolder = "barbican.conf.d"
)

// kept is how many keys there are at most, each of which decrypts: with one a month, a copy of the database that is four years old can be
// read.
const kept = 50

// keys are those that the keys of projects are encrypted with. They are as Keystone's of stored credentials are: the primary encrypts, all
// others decrypt, the next one is with all pods before it is the primary, and when every pod has it, what is stored is encrypted with it.
func keys(m *model) ([]compose.Stage, error) {
	spec := openstackv1.KeyRepositorySpec{
		Type:             openstackv1.KeyTypeCredential,
		SecretName:       common.ObjectName(m.Sub(keysName)),
		RotationSchedule: m.spec.Keys.RotationSchedule,
		Suspend:          m.spec.Keys.Suspend,
		MaxActiveKeys:    new(int32(kept)),
		Consumers:        m.Consumers(),
		Migrate: &openstackv1.Command{Command: []openstackv1.Argument{
			"sh", openstackv1.Argument(m.Path(keysFile)), "sh", openstackv1.Argument(m.Path(rewrapFile)),
		}},
	}
	if s := m.Spec.SecretStore; s != nil {
		spec.Backup = &openstackv1.Backup{SecretStoreRef: *s, RemoteKey: secret.RemoteKey(*s, m.Namespace, m.Sub(keysName))}
	}
	return []compose.Stage{{{Name: keysComponent, Object: c5c3.KeyRepository(m.Meta(m.Sub(keysName)), spec), Retain: true}}}, nil
}

// keyVolumes are the keys, and the folder in memory where they are written down for Barbican: it takes several of one option from files
// alone.
func (m *model) keyVolumes() []service.Volume {
	return []service.Volume{
		m.SecretVolume(keysName, m.Sub(keysName)),
		{
			Volume: workload.MemoryScratch("config-folder", resource.MustParse("16Mi")),
			Folder: m.Path(configFolder), Writable: true,
		},
	}
}

// start is a command that runs when the keys are written down, and a Vault has given back what it was given.
func (m *model) start(command ...string) []string {
	before := []string{"sh", m.Path(keysFile)}
	if m.spec.Vault != nil {
		before = append(before, python, m.Path(vaultFile))
	}
	return slices.Concat(before, command)
}

// python is the image's, with Barbican.
const python = "/opt/openstack/bin/python"
