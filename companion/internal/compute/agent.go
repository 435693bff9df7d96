package compute

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// Agent is an agent of Neutron on a host, including OVN's controllers.
type Agent struct {
	ID, Type, Host string
	// Alive is set if it reported recently.
	Alive bool
}

// network returns the client of the Neutron API.
func (a *API) network() (*gophercloud.ServiceClient, error) {
	client, err := a.user.Service("network")
	if err == nil {
		client.ResourceBase = client.Endpoint + "v2.0/"
	}
	return client, err
}

// ListAgents returns all agents. Neutron does not return the host of an agent whose chassis no longer exists.
// https://docs.openstack.org/api-ref/network/v2/#networking-agents
func (a *API) ListAgents(ctx context.Context) ([]Agent, error) {
	return a.listAgents(ctx, url.Values{})
}

// ListHostAgents returns the agents on a host.
func (a *API) ListHostAgents(ctx context.Context, host string) ([]Agent, error) {
	return a.listAgents(ctx, url.Values{"host": {host}})
}

// listAgents returns the agents that a query selects.
func (a *API) listAgents(ctx context.Context, query url.Values) ([]Agent, error) {
	client, err := a.network()
	if err != nil {
		return nil, err
	}
	type agent struct {
		ID    string `json:"id"`
		Type  string `json:"agent_type"`
		Host  string `json:"host"`
		Alive bool   `json:"alive"`
	}
	var out []Agent
	address := client.ServiceURL("agents")
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	list := openstackapi.Pages{Client: client, First: address, Key: "agents"}
	err = openstackapi.Each(ctx, "Neutron", "list agents", list, func(_ string, g agent) { out = append(out, Agent(g)) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// DeleteAgent deletes an agent. For an OVN agent, Neutron also deletes the chassis from OVN's southbound database, with its
// records there (Chassis, Chassis_Private and Encap), in all supported releases (delete_agent of
// neutron/plugins/ml2/drivers/ovn/mech_driver).
func (a *API) DeleteAgent(ctx context.Context, id string) error {
	client, err := a.network()
	if err != nil {
		return err
	}
	return ignoreNotFoundFrom("Neutron", "remove agent "+id, agents.Delete(ctx, client, id).Err)
}
