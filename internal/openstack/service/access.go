package service

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// companionAccess permits the companion to read and write the Secrets of an instance and to restart its pods. The Role
// contains only the names used by the objects of these components. It is built before all of them and changes with the
// spec.
func companionAccess[M Instance](components compose.Graph[M]) func(M) ([]compose.Stage, error) {
	return func(m M) ([]compose.Stage, error) {
		var objects []runtime.Object
		for _, c := range components {
			if c.Enabled != nil && !c.Enabled(m) {
				continue
			}
			stages, err := c.Build(m)
			if err != nil {
				return nil, err
			}
			for _, stage := range stages {
				for _, r := range stage {
					objects = append(objects, r.Object)
				}
			}
		}
		s := m.Embedded()
		role, binding := c5c3.Grant(s.Meta(s.Sub("companion")), objects...)
		return []compose.Stage{{{Name: "companion-role", Object: role}, {Name: "companion-role-binding", Object: binding}}}, nil
	}
}
