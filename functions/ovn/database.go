package ovn

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// maxMembers is the maximum number of members. Certificates contain the names of all, so that none is renewed when the number changes.
const maxMembers = 5

// database is the northbound or the southbound database, with its current members.
type database struct {
	// part is its component, schema the name of its schema, and file the file of the schema.
	part, schema, file string
	port, raft         int32
	// chassis is the port for nodes with a separate certificate. 0: it has no such port.
	chassis int32
	// servesChassis reports whether all members have served that port.
	servesChassis bool
	members       ovnv1.Members
	workload      workload.Workload
	// domain is the DNS domain of its pods.
	domain string
	// id is the ID of its cluster. Empty: it is unknown.
	id string
	// targetMembers is the number of members in the spec, joined the number of pods that must be members now. A member beyond joined leaves.
	targetMembers, joined int32
	cluster, set          *observe.Object
	// memberServices expose the members to other clusters, and externalClients are the permitted clients there.
	memberServices  []memberService
	externalClients []workload.Flow
	// restoring is the progress message of a database that is created from a snapshot. Empty: it is not restored.
	restoring string
}

// Defaults of replicas: members of a database, and pods of northd and relays, of which one can be lost. The schema cannot have them,
// because replicas is a field of common.Process, whose defaults depend on the process.
const (
	defaultMembers = 1
	defaultDaemons = 2
)

// defaultResources is the default of a pod's resources.
var defaultResources = common.Process{CPU: new(intstr.FromString("100m")), Memory: "512Mi"}

func (m *model) database(part string, members ovnv1.Members, observed observe.State) (database, error) {
	d := database{
		part: part, schema: "OVN_Northbound", file: "ovn-nb", port: ovnv1.NorthboundPort, raft: ovnv1.NorthboundRaftPort, members: members,
	}
	if part == southbound {
		d.schema, d.file, d.port, d.raft = "OVN_Southbound", "ovn-sb", ovnv1.SouthboundPort, ovnv1.SouthboundRaftPort
		d.chassis = ovnv1.ChassisPort
	}
	d.workload, d.restoring = m.workload(part), m.restoring()
	d.domain = fmt.Sprintf("%s.%s.svc.%s", d.workload.Name, m.namespace, m.spec.ClusterDomain)
	d.targetMembers = ptr.Deref(members.Replicas, defaultMembers)
	if d.targetMembers < 1 || d.targetMembers > maxMembers || d.targetMembers%2 == 0 {
		return d, invalid.Field("spec."+part+".replicas", "%d members cannot agree by majority; set 1, 3 or 5", d.targetMembers)
	}
	r, err := resources("spec."+part, members.Process)
	if err != nil {
		return d, err
	}
	d.workload.Resources = r
	d.cluster, _ = observed.Get(d.clusterResource())
	d.set, _ = observed.Get(d.part)
	state, _ := observed.Get(d.stateResource())
	// The cluster ID stays known if the object that reports it is lost.
	d.id = cmp.Or(d.cluster.String("status", "clusterID"), state.String("data", clusterIDFile))
	d.workload.Replicas, d.joined = d.next(state.String("data", membersFile))
	// Clients move to the port once, and stay there while members are replaced later.
	d.servesChassis = d.chassis > 0 && (m.previous.Southbound.ChassisEndpoint != "" || hasChassisPort(d.set) && d.membersReady(d.set).Ready)
	return d, nil
}

// Files of a member's configuration.
const (
	clusterIDFile = "cluster-id"
	membersFile   = "members"
	electionFile  = "election-timer"
	probeFile     = "inactivity-probe"
)

const millisecondsPerSecond = 1000

// electionTimerMilliseconds returns the time in milliseconds without a heartbeat from the leader after which members elect another. The
// default tolerates compaction of the whole database, and a busy disk.
func (d *database) electionTimerMilliseconds() int32 {
	return d.members.ElectionTimerSeconds * millisecondsPerSecond
}

// probe returns the idle time in milliseconds after which a server probes a client. Clients can be busy for long, and would all reconnect
// at once.
func (d *database) probe() int32 {
	return d.members.InactivityProbeSeconds * millisecondsPerSecond
}

// maxBacklogBytes returns the maximum number of bytes that a member buffers for another one that is slow: a quarter of its memory. The
// server's default is 4 GiB (cluster/set-backlog-threshold in ovsdb-server(1)), with which one slow member could cause others to run out of
// memory.
func (d *database) maxBacklogBytes() int64 {
	return d.workload.Resources.Limits.Memory.Value() / 4 //nolint:mnd // explained above
}

// next returns the desired number of pods, and how many of them must be members.
//
// While no cluster is recorded, there is one pod, which creates it. Then all desired members join. Members leave one by one, those with the
// highest numbers first, each while all others are connected; a pod is deleted after its member has left, because only the pod itself can
// leave.
func (d *database) next(queried string) (pods, joined int32) {
	now, _ := d.set.Int("spec", "replicas")
	pods = int32(now) //nolint:gosec // a handful
	switch {
	case d.id == "":
		pods = max(pods, 1)
		return pods, pods
	case pods <= d.targetMembers:
		return d.targetMembers, d.targetMembers
	}
	last := pods - 1
	switch {
	case d.state(last) == c5c3v1.MemberLeft:
		return last, last
	case queried == strconv.Itoa(int(last)), d.clusterReady().Ready:
		return pods, last
	}
	return pods, pods
}

// state returns the reported state of the pod with a number.
func (d *database) state(number int32) string {
	for _, v := range d.cluster.List("status", "members") {
		if member, _ := v.(map[string]any); member["pod"] == d.pod(number) {
			s, _ := member["state"].(string)
			return s
		}
	}
	return ""
}

func (d *database) pod(number int32) string { return fmt.Sprintf("%s-%d", d.workload.Name, number) }

// clusterReady reports the state of the cluster.
func (d *database) clusterReady() ready.Result {
	if !d.cluster.Exists() {
		return ready.Wait("ClusterIDUnknown", "waiting for the companion to record the cluster ID")
	}
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: "c5c3.io", Kind: "RaftCluster"})
	return rule.Check(d.cluster)
}

// membersReady reports the state of the StatefulSet: whether all pods run and are members.
func (d *database) membersReady(set *observe.Object) ready.Result {
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: "apps", Kind: "StatefulSet"})
	switch v := rule.Check(set); {
	case d.id != "" && d.workload.Replicas > d.targetMembers:
		// A leaving member counts until the companion has observed that it has left.
		return ready.Wait("Leaving", "it has %d pods, whose members leave one by one until there are %d", d.workload.Replicas, d.targetMembers)
	case !v.Ready && d.id == "" && d.restoring != "":
		return ready.Wait("Restoring", "%s", d.restoring)
	case !v.Ready:
		return v
	case d.id == "":
		return ready.Wait("ClusterIDUnknown", "waiting for the companion to record the cluster ID")
	}
	return d.clusterReady()
}

// checkedByCompanion reports whether the companion has observed the RaftCluster, before a cluster exists.
func (d *database) checkedByCompanion(o *observe.Object) ready.Result {
	if observed, ok := o.Int("status", "observedGeneration"); ok && observed == o.Generation() {
		return ready.Yes
	}
	return ready.Wait("NotObserved", "waiting for the companion to read which Raft cluster the pods are members of")
}

// clusterResource and stateResource return the composed resources of the RaftCluster, and of its members' configuration.
func (d *database) clusterResource() string { return d.part + "-cluster" }
func (d *database) stateResource() string   { return d.part + "-state" }

// endpoint returns the addresses of all desired members.
func (d *database) endpoint() string { return d.endpointAt(d.port) }

func (d *database) endpointAt(port int32) string {
	var out []string
	for i := range d.targetMembers {
		out = append(out, fmt.Sprintf("ssl:%s.%s:%d", d.pod(i), d.domain, port))
	}
	return strings.Join(out, ",")
}

// chassisPortName is the name of the port for nodes with a separate certificate.
const chassisPortName = "chassis"

// chassisPort returns the port for nodes with a separate certificate. Empty: it has no such port.
func (d *database) chassisPort() string {
	if d.chassis == 0 {
		return ""
	}
	return strconv.Itoa(int(d.chassis))
}

// servicePorts returns the ports of the members' Service.
func (d *database) servicePorts() []corev1.ServicePort {
	out := []corev1.ServicePort{workload.Port("database", d.port), workload.Port("raft", d.raft)}
	if d.chassis > 0 {
		out = append(out, workload.Port(chassisPortName, d.chassis))
	}
	return out
}

// hasChassisPort reports whether the pod template of a workload has the port for nodes with a separate certificate.
func hasChassisPort(workload *observe.Object) bool {
	for _, c := range workload.List("spec", "template", "spec", "containers") {
		container, _ := c.(map[string]any)
		ports, _ := container["ports"].([]any)
		for _, p := range ports {
			if port, _ := p.(map[string]any); port["name"] == chassisPortName {
				return true
			}
		}
	}
	return false
}

// names returns the names in the certificate of the members: all possible members, and their exposed names and addresses.
func (d *database) names() []string {
	var out []string
	for i := range int32(maxMembers) {
		out = append(out, d.pod(i)+"."+d.domain)
	}
	return append(out, hosts(d.memberServices)...)
}

func (d *database) status() ovnv1.DatabaseStatus {
	out := ovnv1.DatabaseStatus{
		Endpoint: d.endpoint(), ExternalEndpoint: external(d.memberServices), ClusterID: d.id, Leader: d.cluster.String("status", "leader"),
	}
	if d.servesChassis {
		out.ChassisEndpoint = d.endpointAt(d.chassis)
	}
	for i := range d.workload.Replicas {
		if d.state(i) == c5c3v1.MemberJoined {
			out.Members++
		}
	}
	return out
}

// claims returns the volume claim of a member.
func (d *database) claims() ([]workload.Claim, error) {
	size, err := quantity.Parse("spec."+d.part+".storageSize", string(d.members.StorageSize), "5Gi")
	if err != nil {
		return nil, err
	}
	c := workload.Claim{Name: "data", Size: size, Class: string(d.members.StorageClass)}
	out, err := workload.Fixed(d.set.List("spec", "volumeClaimTemplates"), c)
	if err != nil {
		return nil, invalid.Field("spec."+d.part+".storageSize", "%s", err)
	}
	return out, nil
}
