package main

import (
	"reflect"
	"slices"
	"strings"

	cinder "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	cloud "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplane "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glance "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	hypervisor "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	storage "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
)

// basicFields are the fields that a form shows first, by kind. Required fields of a listed field are basic, too; with ".*", all of its
// fields.
var basicFields = map[string][]string{
	"ControlPlaneCluster": slices.Concat(enabledFields("services"), []string{
		"openStackRelease", "size", "cluster.*", "deletionPolicy",
		"global.region", "global.domain", "global.exposure.type", "global.exposure.gateway", "global.exposure.ingressClassName",
		"global.tls.issuerRef.*",
		"services.keystone.external",
		"services.glance.stores.file", "services.glance.stores.ceph", "services.glance.stores.rbd", "services.glance.stores.s3",
		"services.glance.stores.swift",
		"services.cinder.backends.ceph", "services.cinder.backends.rbd", "services.cinder.backends.nfs",
		"infrastructure.mariadb.external.*", "infrastructure.mariadb.replicas", "infrastructure.mariadb.storageSize",
		"infrastructure.rabbitmq.enabled", "infrastructure.rabbitmq.external", "infrastructure.valkey.enabled",
	}),
	"HypervisorCluster": {
		"controlPlaneRef", "cell", "cluster.*", "availabilityZone", "nodeSelector", "cpu.mode", "cpu.models", "cpu.allocationRatio",
		"memory.*", "maxUnavailable", "virtualization.driver", "networks.bridgeMappings.*", "storage.*",
	},
	"KeystoneService": {"controlPlaneRef", "catalog.*"},
	"OpenStackCluster": slices.Concat(enabledFields("controlPlane.spec.services"), []string{
		"openStackRelease", "size", "storage.ref.*", "storage.spec.deviceSelector.*", "storage.spec.nodes.zone", "storage.spec.external",
		"storage.spec.network.publicCIDRs", "storage.spec.pools.application", "controlPlane.ref.*", "controlPlane.spec.global.region",
		"controlPlane.spec.global.domain", "controlPlane.spec.services.glance.stores.ceph",
		"controlPlane.spec.services.glance.stores.file",
		"controlPlane.spec.services.cinder.backends.ceph",
		"hypervisorPools.name", "hypervisorPools.ref.*", "hypervisorPools.spec.nodeSelector", "hypervisorPools.spec.storage.*",
		"hypervisorPools.spec.availabilityZone", "hypervisorPools.spec.networks.bridgeMappings.*",
	}),
	"StorageCluster": {
		"cluster.*", "nodes.zone", "deviceSelector.*", "external", "network.publicCIDRs", "targetCapacity", "replicationFactor",
		"failureDomain",
		"pools.application", "pools.purpose", "pools.replicated", "pools.erasureCoded", "filesystems.name", "objectStores.name", "deletionPolicy",
	},
}

// enabledFields returns the paths of the fields that enable services, below the path of the services. The section of a service that cannot
// be disabled is not a pointer.
func enabledFields(path string) []string {
	var out []string
	for f := range reflect.TypeFor[controlplane.Services]().Fields() {
		if f.Type.Kind() != reflect.Pointer {
			continue
		}
		if _, found := f.Type.Elem().FieldByName("Enabled"); found {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out = append(out, path+"."+name+".enabled")
		}
	}
	return out
}

// choice is a choice between fields of an object.
type choice struct {
	// by is the field whose value is the choice. It is empty if the choice is the presence of a field.
	by      string
	options []option
}

// option describes an option of a choice.
type option struct {
	title string
	// by are the values of the field of choice.by.
	by []string
	// fields that can be set with this option only.
	fields []string
	// required are the fields that the option requires.
	required []string
	// values are the values that fields must have.
	values map[string]any
}

// one returns an option that is the presence of a field.
func one(title, field string) option {
	return option{title: title, fields: []string{field}, required: []string{field}}
}

var redundancy = choice{options: []option{
	{title: "Replicated", fields: []string{"replicated"}}, one("Erasure-coded", "erasureCoded"),
}}

// choices are the types with alternatives. Their definitions express them as CEL rules, which a form cannot read.
var choices = map[reflect.Type]choice{
	reflect.TypeFor[common.Exposure](): {by: "type", options: []option{
		{by: []string{"None"}},
		{by: []string{"GatewayAPI"}, required: []string{"gateway"}, fields: []string{"gateway", "routing", "annotations", "allowedNamespaces"}},
		{by: []string{"Ingress"}, fields: []string{"ingressClassName", "ingressController", "annotations", "allowedNamespaces"}},
	}},
	reflect.TypeFor[common.MemberExposure](): {by: "type", options: []option{
		{title: "Inside the cluster only", by: []string{"None"}},
		{title: "Load balancer", by: []string{"LoadBalancer"}},
		{title: "Ports of nodes", by: []string{"NodePort"}, fields: []string{"nodes"}, required: []string{"nodes"}},
	}},
	reflect.TypeFor[controlplane.MariaDB](): {options: []option{
		{title: "Database of the control plane", fields: []string{
			"replicas", "storageSize", "storageClass", "resources", "nodeSelector", "tolerations", "maxScale", "backup", "restoreFrom", "metrics",
		}},
		one("External database", "external"),
	}},
	reflect.TypeFor[controlplane.RabbitMQ](): {options: []option{
		{title: "Queue of the control plane", fields: []string{
			"enabled", "replicas", "storageSize", "storageClass", "resources", "nodeSelector", "tolerations", "exposure",
		}},
		one("External queue", "external"),
	}},
	reflect.TypeFor[controlplane.Keystone](): {options: []option{
		{title: "Keystone of the control plane", fields: []string{
			"replicas", "resources", "nodeSelector", "tolerations", "uwsgi", "image", "hostname", "policy", "allowUnknown", "fernet",
			"credentialKeys", "trustFlush", "identityBackends", "federation", "bootstrap",
		}},
		one("External Keystone", "external"),
	}},
	reflect.TypeFor[controlplane.OVN](): {options: []option{
		{title: "Databases of the control plane", fields: []string{
			"northbound", "southbound", "northd", "relay", "ovnImage", "electionTimerSeconds", "inactivityProbeSeconds", "backup", "restoreFrom",
		}},
		one("External databases", "external"),
	}},
	reflect.TypeFor[glance.Store](): {options: []option{
		one("Volume", "file"), one("Pool of a StorageCluster", "ceph"), one("Pool of a Ceph cluster", "rbd"), one("Bucket of an S3 server", "s3"),
		one("Swift container", "swift"),
	}},
	reflect.TypeFor[cinder.Backend](): {options: []option{
		one("Pool of a StorageCluster", "ceph"), one("Pool of a Ceph cluster", "rbd"), one("NFS shares", "nfs"),
	}},
	reflect.TypeFor[cinder.Backup](): {options: []option{
		one("Pool of a StorageCluster", "ceph"), one("Pool of a Ceph cluster", "rbd"), one("Bucket of an S3 server", "s3"),
		one("Swift container", "swift"), one("NFS share", "nfs"), one("Volume", "file"),
	}},
	reflect.TypeFor[hypervisor.CPU](): {by: "mode", options: []option{
		{title: "Models of the host", by: []string{"host-model", "host-passthrough", "maximum"}},
		{title: "Custom models", by: []string{"custom"}, fields: []string{"models"}, required: []string{"models"}},
	}},
	reflect.TypeFor[hypervisor.Libvirt](): {by: "mode", options: []option{
		{title: "Pods", by: []string{"Managed"}, fields: []string{"image", "resources"}},
		{title: "Operating system of the node", by: []string{"Host"}},
	}},
	reflect.TypeFor[storage.StorageClusterSpec](): {options: []option{
		{title: "Devices by pattern", required: []string{"deviceSelector"}, fields: append([]string{"deviceSelector"}, ownCeph...)},
		{title: "Nodes and devices by name", required: []string{"nodes"}, fields: append([]string{"nodes"}, ownCeph...)},
		one("External Ceph cluster", "external"),
	}},
	reflect.TypeFor[storage.DeviceSelector](): {options: []option{
		one("Regular expression for names", "filter"), one("Regular expression for paths", "pathFilter"),
		{title: "Every empty device", fields: []string{"all"}, required: []string{"all"}, values: map[string]any{"all": true}},
	}},
	reflect.TypeFor[cloud.Storage]():        {options: []option{one("New StorageCluster", "spec"), one("Existing StorageCluster", "ref")}},
	reflect.TypeFor[cloud.ControlPlane]():   {options: []option{one("New control plane", "spec"), one("Existing control plane", "ref")}},
	reflect.TypeFor[cloud.HypervisorPool](): {options: []option{one("New pool", "spec"), one("Existing pool", "ref")}},
	reflect.TypeFor[storage.Pool]():         redundancy,
	reflect.TypeFor[storage.DataPool]():     redundancy,
}

// ownCeph are the fields of a StorageCluster that an external Ceph cluster does not have.
var ownCeph = []string{
	"cluster", "stretched", "monitors", "managers", "network", "dashboard", "image", "osds", "objectStores", "filesystems", "consumers",
	"targetCapacity", "mirroring", "nfs",
}

// Patterns of numbers that have CEL rules.
const (
	memoryPattern = `^[0-9]+(\.[0-9]+)?(Mi|Gi|Ti|Pi|M|G|T|P)$`
	coresPattern  = `^([1-9][0-9]*m|[1-9][0-9]*(\.[0-9]+)?|0?\.[0-9]*[1-9][0-9]*)$`
	ratioPattern  = `^([1-9][0-9]{0,2}|0\.[0-9]?[1-9])(\.[0-9]{1,2})?$`
)
