package ovn

import (
	_ "embed"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

var (
	//go:embed member.sh
	memberScript string
	//go:embed northd.sh
	northdScript string
	//go:embed relay.sh
	relayScript string
	//go:embed snapshot.sh
	snapshotScript string
	//go:embed bucket.sh
	bucketScript string
)

const (
	// userID is the user of the image.
	userID = 42424
	// terminationGracePeriod is the time in seconds that a member has to transfer leadership and stop.
	terminationGracePeriod = 60
	// leastMemory is the minimum of memory with which a process starts.
	leastMemory = 64 << 20
	// startRetries is the number of startup probes, ten seconds each: reading a large database takes minutes.
	startRetries = 180
)

// Folders in pods.
const (
	scriptsFolder = "/etc/ovn/scripts"
	stateFolder   = "/etc/ovn/state"
	tlsFolder     = "/etc/ovn/tls"
	dataFolder    = "/var/lib/ovn"
)

// tls is the name suffix of Secrets with a certificate, client the part of the companion's client certificate.
const (
	tls    = "tls"
	client = "client"
)

func (m *model) secret(part string) string { return m.sub(part + "-" + tls) }

// companionAccess grants the companion access to its client certificate, and network access to the members.
func (m *model) companionAccess() ([]compose.Stage, error) {
	role, binding := c5c3.Grant(m.meta(m.sub(c5c3.Name)), m.memory(&m.north), m.memory(&m.south))
	pods := metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": c5c3.Name}}
	policy := workload.NetworkPolicy(m.meta(m.sub(c5c3.Name)), pods, nil, []workload.Flow{
		{Pods: m.north.workload.Selector(), Ports: []int32{m.north.port}}, {Pods: m.south.workload.Selector(), Ports: []int32{m.south.port}},
	})
	return []compose.Stage{{
		{Name: "companion-role", Object: role}, {Name: "companion-role-binding", Object: binding},
		{Name: "companion-network-policy", Object: policy},
	}}, nil
}

// authority builds the CA of members and clients of this OVNCluster. It issues no other certificates, because each of them grants write
// access.
func (m *model) authority() ([]compose.Stage, error) {
	ca := m.sub("ca")
	return []compose.Stage{
		{{Name: "self-signed", Object: certificate.SelfSigned(m.meta(m.sub("self-signed")))}},
		{{Name: "ca", Object: certificate.Authority(m.meta(ca), m.sub("self-signed")), Retain: true}},
		{{Name: "issuer", Object: certificate.CAIssuer(m.meta(ca), ca)}},
		{
			m.leaf(northbound, m.north.names()...), m.leaf(southbound, m.south.names()...),
			m.leaf(northd, fmt.Sprintf("%s.%s.svc", m.sub(northd), m.namespace)),
			m.leaf(client, fmt.Sprintf("%s.%s.svc", m.sub(client), m.namespace)),
		},
	}, nil
}

// leaf returns a certificate of the CA.
func (m *model) leaf(part string, hosts ...string) compose.Resource {
	issuer := common.IssuerReference{Name: common.ObjectName(m.sub("ca")), Kind: "Issuer"}
	return compose.Resource{Name: part + "-certificate", Object: certificate.Server(m.meta(m.secret(part)), issuer, hosts...)}
}

// scripts returns the ConfigMap with the pods' scripts.
func (m *model) scripts() ([]compose.Stage, error) {
	return []compose.Stage{{{
		Name: scriptsRevision(), Revisions: "scripts",
		Object: m.workload("").ConfigMap(m.sub(scriptsRevision()), map[string]string{
			"member.sh": memberScript, "northd.sh": northdScript, "relay.sh": relayScript, "snapshot.sh": snapshotScript, "bucket.sh": bucketScript,
		}),
	}}}, nil
}

// scriptsRevision returns the name of the ConfigMap, a hash of its contents.
func scriptsRevision() string {
	const digits = 10
	return "scripts-" + names.Hash(digits, memberScript, northdScript, relayScript, snapshotScript, bucketScript)
}

// memory returns the RaftCluster that records the state of a database's cluster.
func (m *model) memory(d *database) *c5c3v1.RaftCluster {
	return c5c3.RaftCluster(m.meta(d.workload.Name), c5c3v1.RaftClusterSpec{
		Database: d.schema, StatefulSetName: common.ObjectName(d.workload.Name), Domain: common.Hostname(d.domain), Port: d.port,
		ClientSecretName: common.ObjectName(m.secret(client)), IntervalSeconds: 10, CountChassis: d.part == southbound,
	})
}

// build builds a database. The record of its cluster precedes its pods: a re-created StatefulSet finds the existing volumes.
func (m *model) build(d *database) ([]compose.Stage, error) {
	claims, err := d.claims()
	if err != nil {
		return nil, err
	}
	w := d.workload
	state := workload.ConfigMap(m.meta(m.sub(d.stateResource())), map[string]string{
		clusterIDFile: d.id, membersFile: strconv.Itoa(int(d.joined)),
		electionFile: strconv.Itoa(int(d.electionTimerMilliseconds())), probeFile: strconv.Itoa(int(d.probe())),
	})
	memberFlow := workload.Flow{Pods: w.Selector(), Ports: []int32{d.raft}}
	in, out := append([]workload.Flow{memberFlow, {Ports: []int32{d.port}}}, d.externalClients...), []workload.Flow{memberFlow}
	if from := m.spec.RestoreFrom; from != nil {
		store, err := bucketFlow("spec.restoreFrom", from.Bucket)
		if err != nil {
			return nil, err
		}
		out = append(out, store)
	}
	return []compose.Stage{
		{{Name: d.clusterResource(), Object: m.memory(d), Ready: d.checkedByCompanion, Retain: true}},
		{
			{Name: d.stateResource(), Object: state},
			{Name: d.part + "-service", Object: w.HeadlessService(d.servicePorts()...)},
			{Name: d.part + "-disruption-budget", Object: w.DisruptionBudget()},
			{Name: d.part + "-network-policy", Object: w.NetworkPolicy(in, out)},
		},
		{{Name: d.part, Object: w.StatefulSet(m.memberPod(d), claims...), Ready: d.membersReady}},
	}, nil
}

// memberPod returns the pod of a member.
func (m *model) memberPod(d *database) workload.Pod {
	value := func(name, text string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: text} }
	number := func(name string, n int32) corev1.EnvVar { return value(name, strconv.Itoa(int(n))) }
	p := m.pod("member.sh", m.secret(d.part))
	c := &p.Containers[0]
	c.Env = append(workload.Self(),
		value("DATABASE", d.schema), value("SCHEMA", "/usr/share/ovn/"+d.file+".ovsschema"), value("NAME", d.workload.Name),
		value("DOMAIN", d.domain),
		number("PORT", d.port), value("CHASSIS_PORT", d.chassisPort()), value("CHASSIS_ROLE", ovnv1.ChassisRole), number("RAFT_PORT", d.raft),
		value("BACKLOG_BYTES", strconv.FormatInt(d.maxBacklogBytes(), 10)),
		value("DATA", dataFolder), value("STATE", stateFolder), value("TLS", tlsFolder))
	c.Ports = []corev1.ContainerPort{{Name: "database", ContainerPort: d.port}, {Name: "raft", ContainerPort: d.raft}}
	if d.chassis > 0 {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: chassisPortName, ContainerPort: d.chassis})
	}
	c.VolumeMounts = append(c.VolumeMounts, workload.Mount("state", stateFolder), corev1.VolumeMount{Name: "data", MountPath: dataFolder})
	p.Volumes = append(p.Volumes, workload.ConfigVolume("state", m.sub(d.stateResource())))
	c.StartupProbe.FailureThreshold = startRetries
	if from := m.spec.RestoreFrom; from != nil {
		addBucketAccess(&p, from.Bucket)
		withoutSecret(&p, string(from.CredentialsSecretRef.Name))
		c.Env = append(c.Env, value("BEFORE", snapshotTimestamp(from.TargetRecoveryTime)))
	}
	return p
}

// northd builds northd, which translates the northbound database into the southbound one.
func (m *model) northd() ([]compose.Stage, error) {
	w := m.workload(northd)
	w.Replicas = ptr.Deref(m.spec.Northd.Replicas, defaultDaemons)
	r, err := resources("spec.northd", m.spec.Northd)
	if err != nil {
		return nil, err
	}
	w.Resources = r
	p := m.pod("northd.sh", m.secret(northd))
	p.Containers[0].Env = []corev1.EnvVar{
		{Name: "NORTHBOUND", Value: m.north.endpoint()}, {Name: "SOUTHBOUND", Value: m.south.endpoint()}, {Name: "TLS", Value: tlsFolder},
	}
	return []compose.Stage{{
		{Name: northd, Object: w.Deployment(p)},
		{Name: northd + "-disruption-budget", Object: w.DisruptionBudget()},
		{Name: northd + "-network-policy", Object: w.NetworkPolicy(nil, []workload.Flow{
			{Pods: m.north.workload.Selector(), Ports: []int32{m.north.port}}, {Pods: m.south.workload.Selector(), Ports: []int32{m.south.port}},
		})},
	}}, nil
}

// pod returns a pod that runs a script.
func (m *model) pod(script, secret string) workload.Pod {
	path := scriptsFolder + "/" + script
	c := corev1.Container{
		Name: "ovn", Image: m.image, Command: []string{"sh", path},
		VolumeMounts: []corev1.VolumeMount{workload.Mount("scripts", scriptsFolder), workload.Mount(tls, tlsFolder)},
	}
	workload.Probe(&c, workload.Exec("sh", path, "alive"))
	// A member without a majority is not restarted, because that does not help.
	ready := *c.ReadinessProbe
	ready.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", path, "ready"}}}
	ready.PeriodSeconds = 10
	c.ReadinessProbe = &ready
	return workload.Pod{
		UserID: userID, Containers: []corev1.Container{c}, GraceSeconds: ptr.To[int64](terminationGracePeriod),
		Volumes: []corev1.Volume{workload.ConfigVolume("scripts", m.sub(scriptsRevision())), workload.SecretVolume(tls, secret)},
	}
}

// resources returns the resources of a process. It returns an error if its memory is insufficient.
func resources(field string, p common.Process) (*common.Resources, error) {
	if p.CPU == nil {
		p.CPU = defaultResources.CPU
	}
	if p.Memory == "" {
		p.Memory = defaultResources.Memory
	}
	if err := service.CheckAmounts(field, p); err != nil {
		return nil, err
	}
	r := service.Resources(p)
	if limit := r.Limits.Memory; limit.Value() < leastMemory {
		return nil, invalid.Field(field+".memory", "%s cannot hold a process; give 64Mi or more", limit)
	}
	return r, nil
}
