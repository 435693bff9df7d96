// Package limittest is for tests that are about something else than limits.
package limittest

// Everything is a limit of a PlatformConfig, in YAML, that allows all claims everything.
const Everything = `{name: everything, namespaces: ["*"], registries: ["*"], domains: ["*"], secretStores: ["*"], gateways: ["*"],
  ingressClasses: ["*"], exposureNamespaces: ["*"], annotations: ["*"], issuers: ["*"], nodeSelectors: ["*"], tolerations: ["*"],
  storageClasses: ["*"], monitoringLabels: ["*"], s3Endpoints: ["*"], directoryHosts: ["*"], openIDHosts: ["*"],
  keystoneHosts: ["*"], databaseHosts: ["*"], queueHosts: ["*"], downloadHosts: ["*"], storageNetworks: ["*"], nfsServers: ["*"],
  vaultServers: ["*"],
  hypervisorNetworks: ["*"], hypervisorNodes: ["*"], hypervisorRegistries: ["*"], hypervisorAgents: ["*"], storageNodes: ["*"],
  storageDevices: ["*"], storageImages: ["*"],
  maxima: {replicas: 100, processes: 100, storage: "1e30", cpu: "1e30", memory: "1e30"}}`
