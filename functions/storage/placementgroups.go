package storage

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// mostPlacementGroups is the limit of placement group copies and chunks on an OSD, above which Ceph creates no more (mon_max_pg_per_osd of
// Squid, https://docs.ceph.com/en/squid/rados/configuration/pool-pg-config-ref/). Later releases allow more.
const mostPlacementGroups = 250

// checkPlacementGroups returns an error if the claim requests more placement groups than its devices may have, as far as it names them:
// Rook would only log that Ceph rejects them.
func (m *model) checkPlacementGroups() error {
	osds := 0
	for _, n := range m.spec.Nodes {
		if len(n.Devices) == 0 {
			return nil // Devices are selected by pattern.
		}
		osds += len(n.Devices)
	}
	total := 0
	for _, r := range m.redundancies() {
		total += int(r.PlacementGroups) * r.Width()
	}
	if most := osds * mostPlacementGroups; osds > 0 && total > most {
		return invalid.Field("spec.pools", "minPlacementGroups of all pools, times their copies or pieces, are %d, and Ceph lets %s have %d "+
			"(%d for each); lower them, or name more devices", total, countNoun(osds, "device"), most, mostPlacementGroups)
	}
	return nil
}
