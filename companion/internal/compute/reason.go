package compute

import "strings"

// Prefixes of the reasons with which the companion disables nova-compute: the state is stored in Nova, so that another leader can
// continue. A service with another reason was disabled by another user.
const (
	// CordonReason is followed by the time since which the node is cordoned.
	CordonReason = "crossplane.c5c3.io: its node is cordoned since "
	// MaintenanceReason is followed by the name of the NodeMaintenance.
	MaintenanceReason = "crossplane.c5c3.io: NodeMaintenance "
)

// MaintainedBy returns the name of the NodeMaintenance that disabled the service; "" if none did.
func (s *Service) MaintainedBy() string {
	name, ok := strings.CutPrefix(s.Reason, MaintenanceReason)
	if !ok || !s.Disabled {
		return ""
	}
	return name
}

// Cordoned reports whether the service was disabled because its node is cordoned.
func (s *Service) Cordoned() bool { return s.Disabled && strings.HasPrefix(s.Reason, CordonReason) }
