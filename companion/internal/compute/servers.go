package compute

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// detailsMicroversion is the first with which the list of servers has the extra specs of their flavors (2.47), the properties of their
// images (2.98) and their scheduler hints (2.100). All supported releases have it.
const detailsMicroversion = "2.100"

// ServerDetails is a server with the properties that determine how it can be moved.
type ServerDetails struct {
	Server

	// MemoryMiB and DisksGiB are the sizes of its memory, and of its disks that are not volumes.
	MemoryMiB, DisksGiB int64
	// BootsFromImage is set if its root disk is not a volume.
	BootsFromImage bool
	// ExtraSpecs are the extra specs of its flavor, and ImageProperties the properties of its image, without the prefix of the group. A
	// server that boots from a volume has none.
	ExtraSpecs, ImageProperties map[string]string
	Metadata                    map[string]string
	// Group is the ID of its server group; "" if it has none.
	Group string
}

// serverDetails is a server in a response.
type serverDetails struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Status   string            `json:"status"`
	Task     string            `json:"OS-EXT-STS:task_state"`
	Metadata map[string]string `json:"metadata"`
	Flavor   struct {
		Memory     int64             `json:"ram"`
		Disk       int64             `json:"disk"`
		Ephemeral  int64             `json:"ephemeral"`
		Swap       int64             `json:"swap"`
		ExtraSpecs map[string]string `json:"extra_specs"`
	} `json:"flavor"`
	// Image is "" if the server boots from a volume.
	Image json.RawMessage `json:"image"`
	Hints struct {
		Group json.RawMessage `json:"group"`
	} `json:"scheduler_hints"`
}

// decode converts the response. Properties of images can have values that are not texts, which are ignored.
func (s *serverDetails) decode() ServerDetails {
	const mebibytes = 1024
	out := ServerDetails{
		Server: Server{ID: s.ID, Name: s.Name, Status: s.Status, Task: s.Task}, MemoryMiB: s.Flavor.Memory,
		DisksGiB:   s.Flavor.Ephemeral + (s.Flavor.Swap+mebibytes-1)/mebibytes,
		ExtraSpecs: s.Flavor.ExtraSpecs, Metadata: s.Metadata, ImageProperties: map[string]string{},
	}
	var image struct {
		Properties map[string]any `json:"properties"`
	}
	if json.Unmarshal(s.Image, &image) == nil {
		out.DisksGiB += s.Flavor.Disk
		out.BootsFromImage = true
		for key, value := range image.Properties {
			if text, ok := value.(string); ok {
				out.ImageProperties[key] = text
			}
		}
	}
	// Nova lists the values of a hint.
	var groups []string
	if json.Unmarshal(s.Hints.Group, &groups) == nil && len(groups) > 0 {
		out.Group = groups[0]
	} else {
		_ = json.Unmarshal(s.Hints.Group, &out.Group) // A hint in another form is no group.
	}
	return out
}

// ListServerDetails returns the servers of all projects on a host, with their properties.
// https://docs.openstack.org/api-ref/compute/#list-servers-detailed
func (a *API) ListServerDetails(ctx context.Context, host string) ([]ServerDetails, error) {
	client := a.withMicroversion(detailsMicroversion)
	out := []ServerDetails{}
	query := url.Values{"all_tenants": {"true"}, "host": {host}}
	list := openstackapi.Pages{Client: client, First: client.ServiceURL("servers", "detail") + "?" + query.Encode(), Key: "servers"}
	err := openstackapi.Each(ctx, "Nova", "list the servers of "+host, list, func(_ string, s serverDetails) { out = append(out, s.decode()) })
	if err != nil {
		return nil, err
	}
	return compact(out, func(s ServerDetails) string { return s.ID }), nil
}

// GroupPolicy returns the policy of a server group; "" if it does not exist.
// https://docs.openstack.org/api-ref/compute/#show-server-group-details
func (a *API) GroupPolicy(ctx context.Context, id string) (string, error) {
	var body struct {
		Group struct {
			Policy string `json:"policy"`
		} `json:"server_group"`
	}
	client := a.withMicroversion(detailsMicroversion)
	_, err := client.Get(ctx, client.ServiceURL("os-server-groups", id), &body, nil) //nolint:bodyclose // the client does
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return "", nil
	}
	if err != nil {
		return "", describeError("read server group "+id, err)
	}
	return body.Group.Policy, nil
}

// ListVNICTypes returns the types of the ports of the servers on a host, by server.
// https://docs.openstack.org/api-ref/network/v2/#list-ports
func (a *API) ListVNICTypes(ctx context.Context, host string) (map[string][]string, error) {
	client, err := a.network()
	if err != nil {
		return nil, err
	}
	type port struct {
		Server string `json:"device_id"`
		Type   string `json:"binding:vnic_type"`
	}
	out := map[string][]string{}
	query := url.Values{"binding:host_id": {host}, "fields": {"id", "device_id", "binding:vnic_type"}}
	list := openstackapi.Pages{Client: client, First: client.ServiceURL("ports") + "?" + query.Encode(), Key: "ports"}
	err = openstackapi.Each(ctx, "Neutron", "list the ports of "+host, list, func(_ string, p port) {
		out[p.Server] = append(out[p.Server], p.Type)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
