// Package openstack groups the packages with knowledge about OpenStack: releases and their images, options and policy
// rules, configuration files, and the validation of specs.
package openstack
