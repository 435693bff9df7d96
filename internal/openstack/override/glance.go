package override

const (
	stores           = "stores"
	reasonStoreField = "what a store is reached by stands beside its name"
	location         = "an image's location names the server, the account and, of some stores, the keys by which it is kept"
	staging          = "what comes in is kept on a volume that is mounted there"
	caching          = "the cache is kept on a volume that is mounted there"
	filter           = "what may be fetched in a user's name decides who is reached from inside the cluster"
	inspected        = "an image that is not what it says it is makes a program read files of the pod"
	scrubber         = "no scrubber runs here, which would delete the images later"
)

// glance is glance-api.conf (https://docs.openstack.org/glance/latest/configuration/glance_api.html). The names of stores are the
// tenant's: a group <rbd> stands for that of every store of the driver.
var glance = table{
	"DEFAULT": {
		"backlog":                   ours(uwsgi),
		"bind_host":                 ours(uwsgi),
		"bind_port":                 ours(uwsgi),
		"client_socket_timeout":     ours(uwsgi),
		"daemon":                    ours(scrubber),
		"default_swift_reference":   use(stores, reasonStoreField),
		"delayed_delete":            ours(scrubber),
		"enabled_backends":          use(stores, "a store's driver follows from where it keeps images"),
		"enabled_import_methods":    use("import.methods", "what a method needs is mounted and opened for it"),
		"http_keepalive":            ours(uwsgi),
		"image_cache_dir":           use("imageCache", caching),
		"image_cache_driver":        use("imageCache", "each pod has a cache of its own, which the database keeps count of"),
		"image_cache_max_size":      use("imageCache.storageSize", "it follows from the size of the volume"),
		"image_cache_sqlite_db":     use("imageCache", caching),
		"max_header_line":           ours(uwsgi),
		"metadata_source_path":      ours(files),
		"node_staging_uri":          use("import.staging", staging),
		"property_protection_file":  ours(files),
		"public_endpoint":           ours("the public address follows from the exposure and the host name"),
		"pydev_worker_debug_host":   ours("a debugger at another host runs whatever it likes"),
		"pydev_worker_debug_port":   ours("a debugger at another host runs whatever it likes"),
		"restore":                   ours(scrubber),
		"scrub_pool_size":           ours(scrubber),
		"scrub_time":                ours(scrubber),
		"show_image_direct_url":     ours(location),
		"show_multiple_locations":   ours(location + ", and whoever may write one reads whatever the service can reach"),
		"swift_store_auth_address":  use(stores, reasonStoreField),
		"swift_store_config_file":   use(stores, reasonStoreField),
		"swift_store_key":           use(stores, reasonStoreField),
		"swift_store_user":          use(stores, reasonStoreField),
		"tcp_keepidle":              ours(uwsgi),
		"use_keystone_limits":       ours(noLimits),
		"wakeup_time":               ours(scrubber),
		"worker_self_reference_url": ours("it is each pod's own address, by which another asks it for what was uploaded there"),
		"workers":                   use("uwsgi.processes", uwsgi),
	},
	// What no store says, glance_store looks up here, in no list of options.
	"backend_defaults": {every: use(stores, perStore)},
	"glance_store":     {every: use(stores, perStore)},
	"image_conversion": {"output_format": use("import.convertTo", "a program of the image converts")},
	"image_format": {
		"gpt_safety_checks_nonfatal": ours(inspected),
		"require_image_format_match": ours(inspected),
		"vmdk_allowed_types":         ours(inspected),
	},
	"image_import_opts": {
		"image_import_plugins": use("import.convertTo", "a plugin needs programs and room, of which some images take any amount"),
	},
	"import_filtering_opts": {
		"allowed_hosts":      use("import.webDownload.allowedHosts", filter),
		"allowed_ports":      use("import.webDownload.allowedPorts", filter),
		"allowed_schemes":    use("import.webDownload.allowedSchemes", filter),
		"disallowed_hosts":   use("import.webDownload.allowedHosts", filter),
		"disallowed_ports":   use("import.webDownload.allowedPorts", filter),
		"disallowed_schemes": use("import.webDownload.allowedSchemes", filter),
	},
	"os_glance_staging_store": {every: use("import.staging", staging)},
	"os_glance_tasks_store":   {every: ours(files)},
	"oslo_reports": {
		"file_event_handler": ours(files),
		"log_dir":            ours(logs),
	},
	"paste_deploy": {every: ours("without Keystone in the pipeline, nobody would be asked for a token")},
	"task": {
		"task_executor": ours("tasks run in the processes of the API"),
		"work_dir":      ours(files),
	},
	"wsgi": {"python_interpreter": ours("this names a program to be run")},

	"<file>": {
		"store_description":              use(stores, described),
		"filesystem_store_datadir":       use(stores, "a store's volume is mounted there"),
		"filesystem_store_datadirs":      use(stores, "a store's volume is mounted there"),
		"filesystem_store_metadata_file": ours(files),
	},
	"<http>": {every: ours(noDriver)},
	"<rbd>": {
		"store_description":   use(stores, described),
		"rbd_store_ceph_conf": use(stores, reasonStoreField),
		"rbd_store_pool":      use(stores, reasonStoreField),
		"rbd_store_user":      use(stores, reasonStoreField),
	},
	"<s3>": {
		"store_description":             use(stores, described),
		"s3_store_access_key":           use(stores, reasonStoreField),
		"s3_store_bucket":               use(stores, reasonStoreField),
		"s3_store_bucket_url_format":    use(stores, reasonStoreField),
		"s3_store_cacert":               use(stores, files),
		"s3_store_create_bucket_on_put": ours("the bucket is there before the store is, so that a mistyped name is no new one"),
		"s3_store_host":                 use(stores, reasonStoreField),
		"s3_store_region_name":          use(stores, reasonStoreField),
		"s3_store_secret_key":           use(stores, reasonStoreField),
	},
	"<swift>": {
		"store_description":                         use(stores, described),
		"default_swift_reference":                   use(stores, reasonStoreField),
		"swift_buffer_on_upload":                    ours(buffer),
		"swift_store_admin_tenants":                 ours(reasonSingleAccount),
		"swift_store_application_credential_id":     use(stores, reasonStoreField),
		"swift_store_application_credential_secret": use(stores, reasonStoreField),
		"swift_store_auth_address":                  use(stores, reasonStoreField),
		"swift_store_auth_insecure":                 use(stores, "which authority to trust stands beside a store's name"),
		"swift_store_auth_version":                  use(stores, reasonStoreField),
		"swift_store_cacert":                        use(stores, files),
		"swift_store_config_file":                   use(stores, files),
		"swift_store_container":                     use(stores, reasonStoreField),
		"swift_store_create_container_on_put":       ours("a container is made if there is none"),
		"swift_store_endpoint":                      ours("the object store's address is the catalog's"),
		"swift_store_endpoint_type":                 tenantOption("it chooses among the catalog's addresses"),
		"swift_store_key":                           use(stores, reasonStoreField),
		"swift_store_multi_tenant":                  ours(reasonSingleAccount),
		"swift_store_project_id":                    use(stores, reasonStoreField),
		"swift_store_project_name":                  use(stores, reasonStoreField),
		"swift_store_region":                        use(stores, reasonStoreField),
		"swift_store_use_trusts":                    ours(reasonSingleAccount),
		"swift_store_user":                          use(stores, reasonStoreField),
		"swift_upload_buffer_dir":                   ours(buffer),
	},
	"<vmware>": {every: ours(noDriver)},
}

const (
	perStore            = "each store has a group of its own, in which its driver's options stand"
	buffer              = "a pod has no room for what it uploads"
	described           = "what users are told of a store stands beside its name"
	noDriver            = "no store has this driver"
	reasonSingleAccount = "all images of a store belong to its account"
)
