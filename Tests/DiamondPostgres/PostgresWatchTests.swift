#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondTestSupport
import Testing

@testable import DiamondPostgres

@Suite("PostgresWatch", .limit(minutes: 1)) struct PostgresWatchTests {
    private func connected(at position: Int64 = 100) -> PostgresWatch {
        var watch = PostgresWatch()
        watch.connect(at: position, time: .now)
        return watch
    }

    private func record(_ number: Int, tags: Tags = []) throws -> CacheRecord {
        CacheRecord(try .sample(number, tags: tags))
    }

    private func announcement(
        _ position: Int64, isOwn: Bool = false, names: ChangedNames? = ChangedNames(), tag: String? = nil
    ) -> PostgresWatch.Announcement {
        let stamps = tag.map { [CacheName("t \($0)").number] } ?? []
        return PostgresWatch.Announcement(position: position, isOwn: isOwn, names: names, stamps: Set(stamps))
    }

    @Test func `a changed name names the records that have it`() throws {
        var watch = connected()
        let (first, second) = (try record(1, tags: ["a"]), try record(2, tags: ["a", "b"]))
        for record in [first, second] { watch.hold(record, since: watch.start) }
        let position = watch.start
        watch.take([announcement(101, tag: "b"), announcement(102, tag: "c")], time: .now)
        #expect(watch.log.changes(since: position).names?.keys == [second.key.prefix])
        watch.take([announcement(103, tag: "a")], time: .now)
        #expect(watch.log.changes(since: position).names?.keys == [first.key.prefix, second.key.prefix])
        #expect(watch.known == 103)
    }

    @Test(arguments: ["name", "key", "URL", "anything"])
    func `a change while a record is read is reported again when memory has it`(change: String) throws {
        var watch = connected()
        let record = try record(1, tags: ["a"])
        let start = watch.start
        switch change {
        case "name": watch.take([announcement(101, tag: "a")], time: .now)
        case "key": watch.take([announcement(101, names: ChangedNames(record.key))], time: .now)
        case "URL": watch.take([announcement(101, names: ChangedNames(urls: [record.urlHash]))], time: .now)
        default: watch.take([announcement(101, names: nil)], time: .now)
        }
        let position = watch.start
        watch.hold(record, since: start)
        #expect(watch.log.changes(since: position).names?.keys == [record.key.prefix])
        watch.hold(record, since: watch.start)
        #expect(watch.log.changes(since: watch.start).names?.isEmpty == true)
    }

    @Test func `an own change is no change`() throws {
        var watch = connected()
        watch.hold(try record(1, tags: ["a"]), since: watch.start)
        let position = watch.start
        watch.take([announcement(101, isOwn: true, names: nil, tag: "a")], time: .now)
        #expect(watch.start > position)
        #expect(watch.log.changes(since: position).names?.isEmpty == true)
    }

    @Test func `a connection that was lost or silent has missed anything`() {
        var watch = connected()
        let position = watch.start
        #expect(!watch.isSilent(for: .seconds(20)) && watch.isSilent(for: .zero))
        watch.disconnect()
        #expect(watch.log.changes(since: position).names == nil)
        let later = watch.start
        watch.take([], time: .now)
        #expect(watch.log.connectedAt != nil)
        #expect(watch.log.changes(since: later).names == nil)
    }

    @Test func `the position of the server is known at each later one, also after a server that has lost everything`()
        throws
    {
        var watch = connected(at: 5_000)
        var entry = try CacheEntry.sample(1)
        entry.knownChange = watch.start
        #expect(watch.known(by: CacheRecord(entry)) == 5_000)
        let before = watch.start
        watch.connect(at: 0, time: .now)
        #expect(watch.start > before)
        watch.take([announcement(6_000), announcement(6_001, names: nil)], time: .now)
        watch.hold(CacheRecord(entry), since: before)
        entry.knownChange = watch.start
        #expect(watch.known(by: CacheRecord(entry)) == 6_001)
    }
}
#endif
