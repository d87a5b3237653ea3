"""librdkafka through confluent-kafka-python with group.protocol=consumer (KIP-848): two members, one leaves, commits, a pattern."""
import sys
import time

from confluent_kafka import Consumer, ConsumerGroupType, Producer
from confluent_kafka.admin import AdminClient, NewTopic

bootstrap, topic = sys.argv[1:3]
admin = AdminClient({"bootstrap.servers": bootstrap})
admin.create_topics([NewTopic(topic, 4, 1)])[topic].result(20)
producer = Producer({"bootstrap.servers": bootstrap})
for i in range(400):
    producer.produce(topic, key=b"k%d" % i, value=b"v%d" % i)
assert producer.flush(30) == 0

group = topic + "-group"
settings = {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer", "auto.offset.reset": "earliest",
            "enable.auto.commit": False}
seen = set()


def poll(*consumers):
    for c in consumers:
        msg = c.poll(0.05)
        if msg is not None:
            assert msg.error() is None, msg.error()
            seen.add(msg.value())


def until(what, ready, *consumers):
    deadline = time.time() + 60
    while not ready():
        assert time.time() < deadline, what
        poll(*consumers)


first, second = Consumer(settings), Consumer(dict(settings, **{"group.remote.assignor": "uniform"}))
first.subscribe([topic])
until("the first member gets all", lambda: len(first.assignment()) == 4, first)
second.subscribe([topic])
until("each gets half", lambda: len(first.assignment()) == 2 and len(second.assignment()) == 2, first, second)
partitions = {p.partition for c in (first, second) for p in c.assignment()}
assert partitions == {0, 1, 2, 3}, partitions
described = admin.describe_consumer_groups([group])[group].result(20)
assert described.type == ConsumerGroupType.CONSUMER, described.type
assert len(described.members) == 2 and described.state.name == "STABLE", described.state
until("everything is read", lambda: len(seen) == 400, first, second)
for c in (first, second):
    c.commit(asynchronous=False)
second.close()
until("the first member gets all again", lambda: len(first.assignment()) == 4, first)
committed = first.committed(first.assignment(), timeout=20)
assert sum(p.offset for p in committed) == 400, committed
first.close()

pattern = Consumer(dict(settings, **{"group.id": group + "-pattern"}))
pattern.subscribe(["^" + topic + ".*"])
seen.clear()
until("a pattern", lambda: len(seen) == 400, pattern)
pattern.close()
print("ok")
