"""librdkafka through confluent-kafka-python: admin, idempotent producer, groups, seeks, timestamps."""
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition, OFFSET_BEGINNING
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

bootstrap, topic = sys.argv[1:3]
admin = AdminClient({"bootstrap.servers": bootstrap})
admin.create_topics([NewTopic(topic, 3, 1, config={"retention.ms": "86400000"})])[topic].result(20)
resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
config = admin.describe_configs([resource])[resource].result(20)
assert config["retention.ms"].value == "86400000", config["retention.ms"]

delivered = []


def report(err, msg):
    assert err is None, err
    delivered.append((msg.partition(), msg.offset()))


producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "lz4", "linger.ms": 5})
for i in range(3000):
    producer.produce(topic, key=b"k%d" % i, value=b"v%d" % i, headers=[("n", None), ("e", b""), ("i", b"%d" % i)], on_delivery=report)
    producer.poll(0)
assert producer.flush(30) == 0
assert len(delivered) == 3000 and len(set(delivered)) == 3000

group = topic + "-group"
seen = set()


def consume(consumer, want):
    deadline = time.time() + 60
    while len(seen) < want:
        assert time.time() < deadline, "%d of %d" % (len(seen), want)
        msg = consumer.poll(0.2)
        if msg is None:
            continue
        assert msg.error() is None, msg.error()
        assert dict(msg.headers())["n"] is None and dict(msg.headers())["e"] == b""
        seen.add(msg.value())


settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "session.timeout.ms": 6000, "partition.assignment.strategy": "cooperative-sticky"}
first, second = Consumer(settings), Consumer(settings)
first.subscribe([topic])
consume(first, 1)
second.subscribe([topic])
deadline = time.time() + 60
while not (first.assignment() and second.assignment()):
    assert time.time() < deadline, "the second member got nothing"
    for c in (first, second):
        msg = c.poll(0.1)
        if msg is not None and msg.error() is None:
            seen.add(msg.value())
first.close()
second.commit(asynchronous=False) if second.position(second.assignment())[0].offset >= 0 else None
second.close()

reader = Consumer(dict(settings, **{"group.id": group + "2"}))
reader.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(3)])
seen.clear()
consume(reader, 3000)
positions = reader.position([TopicPartition(topic, p) for p in range(3)])
assert sum(p.offset for p in positions) == 3000, positions
reader.commit(offsets=positions, asynchronous=False)
committed = reader.committed([TopicPartition(topic, p) for p in range(3)], timeout=20)
assert [p.offset for p in committed] == [p.offset for p in positions], committed
for p in range(3):
    low, high = reader.get_watermark_offsets(TopicPartition(topic, p), timeout=20)
    assert low == 0 and high == positions[p].offset
times = reader.offsets_for_times([TopicPartition(topic, 0, 0)], timeout=20)
assert times[0].offset == 0, times
reader.close()

admin.create_partitions([NewPartitions(topic, 5)])[topic].result(20)
deadline = time.time() + 20
while len(admin.list_topics(topic, timeout=10).topics[topic].partitions) != 5:
    assert time.time() < deadline
groups = [g.group_id for g in admin.list_consumer_groups(request_timeout=20).result(20).valid]
assert group + "2" in groups, groups
admin.delete_consumer_groups([group + "2"])[group + "2"].result(20)
admin.delete_topics([topic])[topic].result(20)
print("ok")
