package compute

import (
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
)

// Agent is one of Neutron's on a host. OVN's controllers are such, too.
type Agent struct {
	ID, Type, Host string
	// Alive: it has reported lately.
	Alive bool
}

// network is the API of Neutron.
func (a *API) network() (*gophercloud.ServiceClient, error) {
	client, err := a.user.Service("network")
	if err == nil {
		client.ResourceBase = client.Endpoint + "v2.0/"
	}
	return client, err
}

// ListAgents are all that there are. Of one whose chassis is gone Neutron does not know the host.
// https://docs.openstack.org/api-ref/network/v2/#networking-agents
func (a *API) ListAgents(ctx context.Context) ([]Agent, error) {
	client, err := a.network()
	if err != nil {
		return nil, err
	}
	pages, err := agents.List(client, agents.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, describeErrorFrom("Neutron", "list agents", err)
	}
	list, err := agents.ExtractAgents(pages)
	if err != nil {
		return nil, errors.New("cannot list agents: Neutron's answer is none")
	}
	out := make([]Agent, len(list))
	for i, g := range list {
		out[i] = Agent{ID: g.ID, Type: g.AgentType, Host: g.Host, Alive: g.Alive}
	}
	return out, nil
}

// DeleteAgent removes an agent. With one of OVN's, Neutron removes its chassis from OVN's southbound database, with what it says of itself
// there (Chassis, Chassis_Private and Encap), as of all supported releases (delete_agent of neutron/plugins/ml2/drivers/ovn/mech_driver).
func (a *API) DeleteAgent(ctx context.Context, id string) error {
	client, err := a.network()
	if err != nil {
		return err
	}
	return ignoreNotFoundFrom("Neutron", "remove agent "+id, agents.Delete(ctx, client, id).Err)
}
