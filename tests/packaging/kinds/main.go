// Reads Kubernetes objects from standard input, and decodes each into its own type: a member that the type lacks, or one
// of another type, is a fault. Kinds that are not Kubernetes' own are named and left alone.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"apps/v1 StatefulSet":                    func() any { return &appsv1.StatefulSet{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return &networkingv1.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policyv1.PodDisruptionBudget{} },
	"v1 ConfigMap":                           func() any { return &corev1.ConfigMap{} },
	"v1 Pod":                                 func() any { return &corev1.Pod{} },
	"v1 Secret":                              func() any { return &corev1.Secret{} },
	"v1 Service":                             func() any { return &corev1.Service{} },
	"v1 ServiceAccount":                      func() any { return &corev1.ServiceAccount{} },
}

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	faults := 0
	for _, document := range bytes.Split(input, []byte("\n---\n")) {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(document, &head); err != nil {
			fmt.Println(err)
			faults++
			continue
		}
		if head.Kind == "" {
			continue
		}
		name := head.APIVersion + " " + head.Kind
		make, known := kinds[name]
		if !known {
			fmt.Printf("unknown: %s\n", name)
			continue
		}
		if err := yaml.UnmarshalStrict(document, make()); err != nil {
			fmt.Printf("fault: %s %s: %v\n", name, head.Metadata.Name, err)
			faults++
			continue
		}
		fmt.Printf("sound: %s %s\n", name, head.Metadata.Name)
	}
	if faults > 0 {
		os.Exit(1)
	}
}
