// Package openstack groups what is known of OpenStack: releases and their images, options and policy rules, configuration files,
// and what a Keystone's spec has to say.
package openstack
