//go:build linux

package clouds

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// A Storage is the running result of a claim for storage. Rook does not run here: a Ceph with the pools, users and
// capabilities of its objects replaces its cluster.
type Storage struct {
	*operators.Ceph

	// Namespace of everything.
	Namespace string

	result *preview.Result
	stop   func()
}

// Storage returns the storage of the cloud; nil if it has none.
func (c *Cloud) Storage() *Storage { return c.storage }

// planStorage previews the claim for storage, if there is one.
func planStorage(o Options) (*Storage, error) {
	if len(o.Storage) == 0 {
		return nil, nil
	}
	result, err := preview.Run(o.Storage, o.Platform, kinds.Runners())
	if err != nil {
		return nil, fmt.Errorf("cannot read the claim of storage: %w", err)
	}
	return &Storage{Namespace: result.Instance, result: result}, nil
}

// addStorage runs the Ceph of the claim, and gives its addresses and keys to the clients.
func (c *Cloud) addStorage(ctx context.Context) error {
	s := c.storage
	pools, users, err := RequestedPools(s.result)
	if err != nil {
		return err
	}
	if s.Ceph, s.stop, err = StartCeph(ctx, c.Options.Programs, c.Options.Disk, pools, users, c.Options.Progress); err != nil {
		return err
	}
	for _, o := range s.result.Existing {
		access := o.GetFields()["status"].GetStructValue().GetFields()["access"].GetStructValue()
		if access == nil {
			continue
		}
		access.Fields["fsid"] = structpb.NewStringValue(s.FSID)
		access.Fields["monitors"] = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue(s.MonHost)}})
	}
	return c.GiveKeys(ctx)
}

// RequestedPools returns the pools of a claim for storage, and the users with their capabilities.
func RequestedPools(result *preview.Result) (pools []string, users map[string]operators.Caps, err error) {
	users = map[string]operators.Caps{}
	for _, o := range result.Objects {
		switch {
		case o.Kind == "CephBlockPool" && o.Resource == "pool-"+o.Name: // not one of Ceph's default pools
			pools = append(pools, o.Name)
		case o.Kind == "CephClient":
			if users[o.Name], err = capsOf(o); err != nil {
				return nil, nil, err
			}
		}
	}
	return pools, users, nil
}

// capsOf returns the capabilities of a user.
func capsOf(o preview.Object) (operators.Caps, error) {
	m := o.Manifest.AsMap()
	if inner, wrapped, _ := unstructured.NestedMap(m, "spec", "forProvider", "manifest"); wrapped {
		m = inner
	}
	caps, _, err := unstructured.NestedStringMap(m, "spec", "caps")
	if err == nil && len(caps) == 0 {
		err = fmt.Errorf("the user %s of Ceph may do nothing", o.Name)
	}
	return caps, err
}

// GiveKeys creates the Secret of each user, as Rook does.
func (c *Cloud) GiveKeys(ctx context.Context) error {
	for user := range c.storage.Keyrings {
		data := map[string][]byte{rook.UserIDKey: []byte(user), rook.UserKey: []byte(c.storage.Key(user))}
		if err := c.Operators.SetSecret(ctx, c.storage.Namespace, rook.SecretName(user), data); err != nil {
			return err
		}
	}
	return nil
}
