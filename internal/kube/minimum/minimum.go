// Package minimum lists the minimum memory and storage with which each program starts and keeps running.
package minimum

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
)

// Program is a row of the table: a program, and the sizes below which it fails.
type Program string

// Programs of the table.
const (
	MariaDB         Program = "MariaDB"
	DatabaseBackup  Program = "a database backup"
	RabbitMQ        Program = "RabbitMQ"
	Valkey          Program = "Valkey"
	Memcached       Program = "memcached"
	OVNDatabase     Program = "an OVN database"
	Worker          Program = "a worker process"
	FederationProxy Program = "the federation proxy"
	Companion       Program = "the companion"
	ImageStore      Program = "an image store"
	ImageStaging    Program = "image staging"
	ImageCache      Program = "the image cache"
	ImageConversion Program = "image conversion"
	VolumeBackup    Program = "a volume backup"
	NovaCompute     Program = "nova-compute"
	NeutronAgent    Program = "a Neutron agent"
	Switch          Program = "Open vSwitch"
	Libvirt         Program = "libvirt"
	NodeAgent       Program = "a node agent"
	CephMonitor     Program = "a Ceph monitor"
	CephManager     Program = "a Ceph manager"
	CephOSD         Program = "an OSD"
	CephMetadata    Program = "a Ceph metadata server"
	CephGateway     Program = "a RADOS gateway"
	CephMirror      Program = "an rbd-mirror daemon"
	CephNFS         Program = "an NFS server"
)

// sizes of a program. An empty size is not limited: the program has no volume, or its memory is checked with its workers.
type sizes struct {
	memory, storage string
	// reason names the consumer of the memory or storage.
	reason string
}

// programs is the table. Comments name the setting of this project that a value depends on.
var programs = map[Program]sizes{
	// A Galera member without data uses 150 MiB, and 100 connections 25 MiB. On its volume are a redo log of 96 MiB, Galera's cache of
	// 128 MiB, undo logs and system tables, before the first database.
	MariaDB: {memory: "256Mi", storage: "1Gi", reason: "an empty member needs as much"},
	// A compressed copy of an empty database has a few MiB.
	DatabaseBackup: {storage: "1Gi", reason: "a compressed copy is assembled there"},
	// The write-ahead log of quorum queues is rolled over at an eighth of the memory and a sixteenth of the volume, and a third of the volume
	// stays free.
	RabbitMQ: {memory: "256Mi", storage: "1Gi", reason: "the Erlang runtime and the write-ahead log need as much"},
	// A snapshot forks the process, and the append-only file is rewritten next to the old one.
	Valkey: {memory: "64Mi", storage: "256Mi", reason: "snapshots are written next to the old file"},
	// With items of 2 MiB (-I 2m) it exits if it has less than twice as much, and each of its 40 size classes takes a page.
	Memcached: {memory: "32Mi", reason: "each size class takes a page"},
	// While the raft log is compacted, the log and its snapshot exist at the same time.
	OVNDatabase: {memory: "128Mi", storage: "256Mi", reason: "its raft log is compacted next to the old one"},
	Worker:      {memory: "128Mi", reason: "a process needs as much to start"},
	// Apache with mod_auth_openidc.
	FederationProxy: {memory: "64Mi", reason: "Apache needs as much to start"},
	// A controller in Go, as the agents of nodes are.
	Companion:       {memory: "32Mi", reason: "the controller needs as much to start"},
	ImageStore:      {storage: "1Gi", reason: "images are kept there as a whole"},
	ImageStaging:    {storage: "1Gi", reason: "images are kept there as a whole"},
	ImageCache:      {storage: "1Gi", reason: "images are kept there as a whole"},
	ImageConversion: {storage: "1Gi", reason: "images are converted there as a whole"},
	// Cinder writes compressed objects of up to 48 MiB (backup_file_size), as many as a volume needs.
	VolumeBackup: {storage: "1Gi", reason: "a small volume needs as much"},
	// The process has about 130 MiB before the first server.
	NovaCompute:  {memory: "256Mi", reason: "nova-compute and its privileged helper need as much"},
	NeutronAgent: {memory: "128Mi", reason: "the agent needs as much to start"},
	Switch:       {memory: "64Mi", reason: "the switch and its database need as much"},
	Libvirt:      {memory: "64Mi", reason: "the daemon needs as much to start"},
	NodeAgent:    {memory: "32Mi", reason: "the agent needs as much to start"},
	CephMonitor:  {memory: "256Mi", reason: "the monitor's store needs as much"},
	CephManager:  {memory: "256Mi", reason: "its Python modules need as much"},
	// Four fifths of the limit, which the daemon takes for its caches (osd_memory_target_cgroup_limit_ratio), may not be less than 896Mi.
	CephOSD: {memory: "1120Mi", reason: "its caches take at least 896Mi of it"},
	// Rook gives half of the limit to the cache (mds_cache_memory_limit).
	CephMetadata: {memory: "256Mi", reason: "its cache takes half of it"},
	CephGateway:  {memory: "256Mi", reason: "the gateway needs as much to start"},
	CephMirror:   {memory: "256Mi", reason: "the daemon needs as much to start"},
	CephNFS:      {memory: "256Mi", reason: "the server needs as much to start"},
}

// Programs returns all programs of the table.
func Programs() []Program {
	out := make([]Program, 0, len(programs))
	for p := range programs {
		out = append(out, p)
	}
	return out
}

// Memory returns the minimum memory of a program in bytes, or 0 if it has none.
func Memory(p Program) int64 { return quantity.Bytes(programs[p].memory) }

// Storage returns the minimum size of a program's volume in bytes, or 0 if it has none.
func Storage(p Program) int64 { return quantity.Bytes(programs[p].storage) }

// CheckMemory returns an error if the memory limit of a program is too small. Nil is no limit.
func CheckMemory(field string, p Program, limit *resource.Quantity) error {
	if limit == nil || limit.Value() >= Memory(p) {
		return nil
	}
	return invalid.Field(field, "must be at least %s for %s, not %s: %s; set %[1]s or more, or remove the field",
		programs[p].memory, p, limit, programs[p].reason)
}

// CheckLimits returns an error if the memory limit of resources is too small for a program. Field is the path of the resources.
func CheckLimits(field string, p Program, r *common.Resources) error {
	if r == nil || r.Limits == nil {
		return nil
	}
	return CheckMemory(field+".limits.memory", p, r.Limits.Memory)
}

// CheckStorage returns an error if a volume is too small for a program, or if its size is not a quantity. It accepts an empty size, which
// means the default.
func CheckStorage(field string, p Program, size string) error {
	if err := quantity.Check(field, size); size == "" || err != nil {
		return err
	}
	if quantity.Bytes(size) >= Storage(p) {
		return nil
	}
	return invalid.Field(field, "must be at least %s for %s, not %s: %s; set %[1]s or more", programs[p].storage, p, size, programs[p].reason)
}
