package override

const (
	stores           = "stores"
	reasonStoreField = "the connection of a store has fields"
	location         = "the location of an image contains server, account and, for some stores, keys"
	staging          = "the staging volume is mounted at a fixed path"
	caching          = "the volume of the cache is mounted at a fixed path"
	filter           = "it determines which hosts inside the cluster users can reach"
	inspected        = "an image with a wrong format could make a program read files of the pod"
	scrubber         = "there is no scrubber, which would delete the images"
)

// Owners of options in glance-api.conf
// (https://docs.openstack.org/glance/latest/configuration/glance_api.html). The tenant chooses the names of stores: group
// <rbd> applies to the groups of all stores with this driver.
var _ = add("glance", table{
	"DEFAULT": {
		"backlog":                   reserved(uwsgi),
		"bind_host":                 reserved(uwsgi),
		"bind_port":                 reserved(uwsgi),
		"client_socket_timeout":     reserved(uwsgi),
		"daemon":                    reserved(scrubber),
		"default_swift_reference":   use(stores, reasonStoreField),
		"delayed_delete":            reserved(scrubber),
		"enabled_backends":          use(stores, "the driver of a store is derived from its storage"),
		"enabled_import_methods":    use("import.methods", "volumes and network access are derived from it"),
		"http_keepalive":            reserved(uwsgi),
		"image_cache_dir":           use("imageCache", caching),
		"image_cache_driver":        use("imageCache", "each pod has its own cache, recorded in the database"),
		"image_cache_max_size":      use("imageCache.storageSize", "it is derived from the size of the volume"),
		"image_cache_sqlite_db":     use("imageCache", caching),
		"max_header_line":           reserved(uwsgi),
		"metadata_source_path":      reserved(files),
		"node_staging_uri":          use("import.staging", staging),
		"property_protection_file":  reserved(files),
		"public_endpoint":           reserved("the public URL is derived from exposure and hostname"),
		"pydev_worker_debug_host":   reserved("a remote debugger can run any code"),
		"pydev_worker_debug_port":   reserved("a remote debugger can run any code"),
		"restore":                   reserved(scrubber),
		"scrub_pool_size":           reserved(scrubber),
		"scrub_time":                reserved(scrubber),
		"show_image_direct_url":     reserved(location),
		"show_multiple_locations":   reserved(location + ", and users who can set it could read all that the service can access"),
		"swift_store_auth_address":  use(stores, reasonStoreField),
		"swift_store_config_file":   use(stores, reasonStoreField),
		"swift_store_key":           use(stores, reasonStoreField),
		"swift_store_user":          use(stores, reasonStoreField),
		"tcp_keepidle":              reserved(uwsgi),
		"use_keystone_limits":       reserved(noLimits),
		"wakeup_time":               reserved(scrubber),
		"worker_self_reference_url": reserved("it is the address of each pod, with which other pods retrieve staged data"),
		"workers":                   use("uwsgi.processes", uwsgi),
	},
	// glance_store reads defaults for all stores from these groups. The options are in no list.
	"backend_defaults": {every: use(stores, perStore)},
	"glance_store":     {every: use(stores, perStore)},
	"image_conversion": {"output_format": use("import.convertTo", "a program in the image converts images")},
	"image_format": {
		"gpt_safety_checks_nonfatal": reserved(inspected),
		"require_image_format_match": reserved(inspected),
		"vmdk_allowed_types":         reserved(inspected),
	},
	"image_import_opts": {
		"image_import_plugins": use("import.convertTo", "plugins require programs and disk space, which some images exhaust"),
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
	"os_glance_tasks_store":   {every: reserved(files)},
	"oslo_reports": {
		"file_event_handler": reserved(files),
		"log_dir":            reserved(logs),
	},
	"paste_deploy": {every: reserved("the pipeline must contain Keystone's middleware, which requires tokens")},
	"task": {
		"task_executor": reserved("tasks run in the API processes"),
		"work_dir":      reserved(files),
	},
	"wsgi": {"python_interpreter": reserved("it would run a program")},

	"<file>": {
		"store_description":              use(stores, described),
		"filesystem_store_datadir":       use(stores, "the volume of a store is mounted at a fixed path"),
		"filesystem_store_datadirs":      use(stores, "the volume of a store is mounted at a fixed path"),
		"filesystem_store_metadata_file": reserved(files),
	},
	"<http>": {every: reserved(noDriver)},
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
		"s3_store_create_bucket_on_put": reserved("buckets must exist, so that a misspelled name does not create one"),
		"s3_store_host":                 use(stores, reasonStoreField),
		"s3_store_region_name":          use(stores, reasonStoreField),
		"s3_store_secret_key":           use(stores, reasonStoreField),
	},
	"<swift>": {
		"store_description":                         use(stores, described),
		"default_swift_reference":                   use(stores, reasonStoreField),
		"swift_buffer_on_upload":                    reserved(buffer),
		"swift_store_admin_tenants":                 reserved(reasonSingleAccount),
		"swift_store_application_credential_id":     use(stores, reasonStoreField),
		"swift_store_application_credential_secret": use(stores, reasonStoreField),
		"swift_store_auth_address":                  use(stores, reasonStoreField),
		"swift_store_auth_insecure":                 use(stores, "the CA of a store has a field"),
		"swift_store_auth_version":                  use(stores, reasonStoreField),
		"swift_store_cacert":                        use(stores, files),
		"swift_store_config_file":                   use(stores, files),
		"swift_store_container":                     use(stores, reasonStoreField),
		"swift_store_create_container_on_put":       reserved("missing containers are always created"),
		"swift_store_endpoint":                      reserved("the URL of the object store is in the catalog"),
		"swift_store_endpoint_type":                 tenantOption("it selects among the endpoints in the catalog"),
		"swift_store_key":                           use(stores, reasonStoreField),
		"swift_store_multi_tenant":                  reserved(reasonSingleAccount),
		"swift_store_project_id":                    use(stores, reasonStoreField),
		"swift_store_project_name":                  use(stores, reasonStoreField),
		"swift_store_region":                        use(stores, reasonStoreField),
		"swift_store_use_trusts":                    reserved(reasonSingleAccount),
		"swift_store_user":                          use(stores, reasonStoreField),
		"swift_upload_buffer_dir":                   reserved(buffer),
	},
	"<vmware>": {every: reserved(noDriver)},
}, withoutQueue, client, everyService)

const (
	perStore            = "the options of a driver belong to the group of its store"
	buffer              = "a pod has no disk space for uploads"
	described           = "the description of a store has a field"
	noDriver            = "this driver is not supported"
	reasonSingleAccount = "all images of a store belong to its account"
)
