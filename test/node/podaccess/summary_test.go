package podaccess

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// pod returns a running pod of an owner.
func pod(namespace, name, address string, owner metav1.OwnerReference, c corev1.Container) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app": owner.Name, "pod-template-hash": "abc"},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{c}, Volumes: []corev1.Volume{
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keystone-tls"}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, HostIP: "10.0.0.1"},
	}
}

// example returns an observation of a Keystone that reaches a database by a policy, and a Job.
func example() *Observation {
	keystone := corev1.Container{
		Name: "keystone",
		Env: []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "keystone-database"},
		}}}},
		VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/etc/tls"}, {Name: "tmp", MountPath: "/tmp"}},
	}
	port := intstr.FromInt32(3306)
	return &Observation{
		Namespace: "tenant-cloud-1",
		Pods: []corev1.Pod{
			pod("tenant-cloud-1", "keystone-abc-x", "10.1.0.2", metav1.OwnerReference{Kind: "ReplicaSet", Name: "keystone-abc"}, keystone),
			pod("tenant-cloud-1", "mariadb-0", "10.1.0.3", metav1.OwnerReference{Kind: "StatefulSet", Name: "mariadb"}, corev1.Container{Name: "mariadb"}),
			pod("neighbor", "other", "10.1.0.4", metav1.OwnerReference{Kind: "StatefulSet", Name: "other"}, corev1.Container{Name: "other"}),
		},
		Policies: []networkingv1.NetworkPolicy{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-cloud-1", Name: "keystone"},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "keystone-abc"}},
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
				Egress: []networkingv1.NetworkPolicyEgressRule{{
					Ports: []networkingv1.NetworkPolicyPort{{Port: &port}},
					To:    []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}},
				}},
			},
		}},
		Containers: []Container{{
			Namespace: "tenant-cloud-1", Pod: "keystone-abc-x", Container: "keystone",
			Open: []string{"10.1.0.2:5000", "10.1.0.3:3306", "10.1.0.3:4567", "10.1.0.4:3306", "10.0.0.1:10250"},
			Facts: &Facts{
				UID: 42424, GID: 42424, NoNewPrivileges: true, Seccomp: "filter",
				Mounts: []Mount{
					{Path: "/", ReadOnly: true}, {Path: "/etc/hosts"}, {Path: "/etc/tls", ReadOnly: true}, {Path: "/hidden"}, {Path: "/tmp"},
				},
				Writable: []string{"/tmp", "/var/cache"}, Variables: []Credential{{Name: "PASSWORD", Form: "by name"}},
				Files:   []Credential{{Name: "/etc/tls/tls.key", Form: "private key"}},
				Listens: []Socket{{"tcp", "::", 5000}, {"tcp", "127.0.0.1", 8080}, {"tcp", "0.0.0.0", 40000}},
			},
		}},
	}
}

func TestSummarize(t *testing.T) {
	want := []Kind{{
		Pods: "Deployment keystone", Privileges: []string{"user 42424, group 42424"},
		Mounts:   []string{"/etc/tls: Secret keystone-tls, read-only", "/hidden: unknown, not writable", "/tmp: emptyDir, writable"},
		Writable: []string{"/var/cache"}, Files: []string{"private key /etc/tls/tls.key"},
		Variables: []string{"PASSWORD from Secret keystone-database"}, Listens: []string{"5000", "localhost 8080"},
		Servers: []string{"mariadb 3306"},
	}}
	if diff := cmp.Diff(want, Summarize(example())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSummaryOfUnrestrictedPod(t *testing.T) {
	o := example()
	o.Policies = nil
	f := o.Containers[0].Facts
	f.Capabilities, f.NoNewPrivileges, f.Seccomp = []string{"NET_ADMIN"}, false, "disabled"
	f.API.Tokens = []Token{{
		User:    "system:serviceaccount:tenant-cloud-1:companion",
		Rules:   []Rule{{Verbs: []string{"list", "get"}, Resource: "secrets", Names: []string{"a-0123456789", "a-9876543210"}}},
		Allowed: []string{"create pods everywhere"},
	}}
	got := Summarize(o)[0]
	want := Kind{
		Privileges: []string{"all system calls", "capability NET_ADMIN", "gains privileges by programs", "user 42424, group 42424"},
		Account:    []string{"system:serviceaccount:INSTANCE:companion"},
		Rights:     []string{"escalation: create pods everywhere", "get, list secrets a-…"},
		Servers: []string{
			"any address UDP 53", "any address all ports", "mariadb 3306, 4567", "neighbor/other 3306", "node 10250",
		},
	}
	if diff := cmp.Diff(want, Kind{Privileges: got.Privileges, Account: got.Account, Rights: got.Rights, Servers: got.Servers}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestCopiesHaveThePoliciesOfTheirOriginal(t *testing.T) {
	o := example()
	original := o.Pods[0]
	original.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "keystone-bootstrap-0123456789"}}
	o.Originals = map[string]corev1.Pod{"Job keystone-bootstrap-0123456789": original}
	o.Pods[0].Annotations = map[string]string{CopyOf: "Job keystone-bootstrap-0123456789"}
	o.Pods[0].Labels = nil
	o.Containers[0].CopyOf = "Job keystone-bootstrap-0123456789"
	got := Summarize(o)[0]
	want := Kind{Pods: "Job keystone-bootstrap-…", Servers: []string{"mariadb 3306"}}
	if diff := cmp.Diff(want, Kind{Pods: got.Pods, Servers: got.Servers, Listens: got.Listens}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		owners []metav1.OwnerReference
		want   string
	}{
		"deployment":  {"A ReplicaSet is a revision.", []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "nova-abc"}}, "Deployment nova"},
		"job":         {"A Job has one run.", []metav1.OwnerReference{{Kind: "Job", Name: "bootstrap-0123456789"}}, "Job bootstrap-0123456789"},
		"cron job":    {"Runs of a CronJob are equal.", []metav1.OwnerReference{{Kind: "Job", Name: "flush-29400000"}}, "CronJob flush"},
		"without any": {"A person created it.", nil, "Pod pod"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "pod", OwnerReferences: tc.owners, Labels: map[string]string{"pod-template-hash": "abc"},
			}}
			if got := Owner(p); got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCompareReportsNewAndMissingEntries(t *testing.T) {
	accepted := []Kind{{Pods: "a", Servers: []string{"x 1", "y 2"}}, {Pods: "b"}}
	observed := []Kind{{Pods: "a", Servers: []string{"y 2", "z 3"}, Rights: []string{"get secrets"}}, {Pods: "c"}}
	want := []string{
		"a: reaches: new: z 3", "a: reaches: missing: x 1", "a: rights: new: get secrets", "b: missing kind of pod", "c: new kind of pod",
	}
	if diff := cmp.Diff(want, Compare(accepted, observed)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := Compare(accepted, accepted); len(got) > 0 {
		t.Errorf("equal summaries differ: %v", got)
	}
}
