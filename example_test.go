package ottla_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla"
	"github.com/ottla/ottla/config"
)

// A broker in memory, on a free port, for the time of a test.
func ExampleStart() {
	ctx := context.Background()
	static, _, err := config.Load(config.Default("data", config.Properties{
		{Name: "listeners", Value: "PLAINTEXT://localhost:0,CONTROLLER://localhost:0"},
	}))
	if err != nil {
		log.Fatal(err)
	}
	srv, err := ottla.Start(ctx, ottla.Options{Config: static, Memory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	client, err := kgo.NewClient(kgo.SeedBrokers(srv.Addr("PLAINTEXT")), kgo.ConsumeTopics("greetings"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, "greetings"); err != nil {
		log.Fatal(err)
	}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "greetings", Value: []byte("hello")}).FirstErr(); err != nil {
		log.Fatal(err)
	}
	for r := range client.PollFetches(ctx).RecordsAll() {
		fmt.Println(string(r.Value))
	}
	// Output: hello
}
