{{- /* Fails where a definition of these names is another project's. Takes the root and the names. Without a cluster, lookup finds nothing. */}}
{{- define "c5c3.checkDefinitions" -}}
{{- $root := first . }}
{{- if $root.Values.checkDefinitions }}
{{- range $name := last . }}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name }}
{{- $schema := (index .spec.versions 0).schema.openAPIV3Schema }}
{{- $observed := dig "properties" "status" "properties" "observedGeneration" "description" "" $schema }}
{{- if ne $observed "Generation of the spec that the status is of." }}
{{- fail (printf "the definition %s in this cluster isn't this project's, so that its resources have other fields: if an earlier version of this project installed it, apply package/charts/c5c3-crds/definitions; otherwise install this chart in another cluster; or, if no operator uses that definition any more and no resource of it is left, delete it and install the chart again" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
