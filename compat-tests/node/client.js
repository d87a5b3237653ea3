// kafkajs: admin, producer with gzip and keys, two consumers in a group, seeks, delete.
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')
const assert = require('assert')

const [bootstrap, topic] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'kafkajs', brokers: [bootstrap], logLevel: logLevel.ERROR })

async function main() {
  const admin = kafka.admin()
  await admin.connect()
  assert(await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }], waitForLeaders: true }))
  const producer = kafka.producer({ idempotent: true })
  await producer.connect()
  const messages = [...Array(500).keys()].map((i) => ({ key: `k${i}`, value: `v${i}`, headers: { i: `${i}` } }))
  await producer.send({ topic, messages, acks: -1, compression: CompressionTypes.GZIP })
  await producer.disconnect()

  const groupId = topic + '-group'
  const seen = new Map()
  let done
  const all = new Promise((resolve) => { done = resolve })
  const consumers = [kafka.consumer({ groupId, sessionTimeout: 10000 }), kafka.consumer({ groupId, sessionTimeout: 10000 })]
  for (const consumer of consumers) {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        seen.set(message.value.toString(), partition)
        assert.strictEqual(`v${message.headers.i}`, message.value.toString())
        if (seen.size === messages.length) done()
      }
    })
  }
  await Promise.race([all, new Promise((_, reject) => setTimeout(() => reject(new Error(`${seen.size} of 500 read`)), 60000))])
  for (const consumer of consumers) await consumer.disconnect()

  const offsets = await admin.fetchOffsets({ groupId, topics: [topic] })
  const total = offsets[0].partitions.reduce((sum, p) => sum + Number(p.offset), 0)
  assert.strictEqual(total, 500)
  const ends = await admin.fetchTopicOffsets(topic)
  assert.strictEqual(ends.reduce((sum, p) => sum + Number(p.high), 0), 500)
  await admin.deleteGroups([groupId])
  await admin.deleteTopics({ topics: [topic] })
  await admin.disconnect()
  console.log('ok')
}

main().then(() => process.exit(0), (e) => { console.error(e); process.exit(1) })
