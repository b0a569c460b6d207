import DiamondInspection
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The event file") struct EventFileTests {
    private let temporary = TemporaryStore()

    private func file(limit: Int64 = EventFile.limit) -> EventFile {
        EventFile(temporary.store, limit: limit) { WallTime(rawValue: 1_767_225_600_250) }
    }

    private func text() throws -> String { try String(contentsOfFile: temporary.store.eventPath, encoding: .utf8) }

    /// Returns the lines of events, without the process and the program.
    private func lines(_ events: [ActivityEvent]) async throws -> [String] {
        let file = file()
        for event in events { file.receive(event) }
        await file.flush()
        return try text().split(separator: "\n").map { line in
            String(line).replacing(/"process":\d+,"program":"[^"]+"/, with: "…")
                .replacing(/"milliseconds":\d{4,}(\.\d{1,3})?,/, with: "\"milliseconds\":1000,")
        }
    }

    private func interval(_ id: Int, _ kind: ActivityInterval.Kind, of parent: Int? = nil, attempt: Int? = nil)
        -> ActivityInterval
    {
        ActivityInterval(
            id: .init(number: id), kind: kind, parent: parent.map { .init(number: $0) }, attempt: attempt,
            startedAt: .now - .seconds(1),
            subject: ActivitySubject(lane: "images", origin: "https://h:443", tags: ["b", "a"]),
            request: ActivityRequest(method: .get) { "https://h/a?q=\n\u{1B}\"" })
    }

    // MARK: The form

    @Test func `has an interval in two lines of JSON, with all that is known of it`() async throws {
        let outcome = ActivityOutcome(status: .ok, source: .network)
        let lines = try await lines([
            .began(interval(7, .attempt, of: 3, attempt: 2)), .ended(interval(3, .request), outcome),
            .ended(interval(3, .request), ActivityOutcome(error: "timedOut")),
        ])
        let url = #""url":"https://h/a?q=\n\u001b\"""#
        try #require(lines.count == 3)
        #expect(
            lines[0] == #"{"attempt":2,"id":7,"interval":"attempt","kind":"began","lane":"images","method":"GET","#
                + #""parent":3,…,"tags":["a","b"],"time":1767225600250,\#(url)}"#)
        #expect(
            lines[1] == #"{"id":3,"interval":"request","kind":"ended","lane":"images","method":"GET","#
                + #""milliseconds":1000,…,"source":"network","status":200,"tags":["a","b"],"time":1767225600250,\#(url)}"#
        )
        #expect(lines[2].contains(#""error":"timedOut""#) && !lines[2].contains("status"))
    }

    private static let events: [(ActivityEvent, String)] = [
        (.stored, #"{"kind":"stored",…,"time":1767225600250}"#),
        (.evicted(count: 3), #"{"count":3,"kind":"evicted",…,"time":1767225600250}"#),
        (
            .transferResumed(origin: "https://h:443", offset: 5, total: 9),
            #"{"kind":"resumed","offset":5,…,"time":1767225600250,"total":9,"url":"https://h:443"}"#
        ),
        (
            .job(
                ReplayTransition(
                    jobID: 7, verb: .claim, from: .ready, to: .running, reason: .due, at: Date(timeIntervalSince1970: 0)
                )),
            #"{"from":"ready","job":7,"kind":"job",…,"reason":"due","time":1767225600250,"to":"running","#
                + #""transition":"claim"}"#
        ),
        (
            .cacheFailed(reason: "a\u{9B}\nb"),
            #"{"error":"cacheFailed","kind":"failed",…,"reason":"a"# + "\u{9B}" + #"\nb","time":1767225600250}"#
        ),
        (
            .replayerMissing(jobs: 2),
            #"{"count":2,"error":"replayerMissing","kind":"failed",…,"time":1767225600250}"#
        ),
    ]

    @Test(arguments: events) func `has other events in a line each`(event: ActivityEvent, line: String) async throws {
        #expect(try await lines([event]) == [line])
    }

    @Test func `has the fields that the documentation lists, and no others`() async throws {
        let events = Self.events.map(\.0) + [.ended(interval(1, .attempt, of: 2, attempt: 1), ActivityOutcome())]
        _ = try await lines(events)
        let recorded = EventFileReader.last(100, in: temporary.directory)
        #expect(recorded.count == events.count)
        for case .object(let members) in recorded.map(\.json) {
            #expect(Set(members.keys).isSubset(of: RecordedEvent.fields))
        }
        let article = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Sources/Diamond/Documentation.docc/WatchingActivity.md"), encoding: .utf8)
        let rows = article.split(separator: "\n").drop { $0 != "| member | value |" }.dropFirst(2)
        let names = rows.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`(\w+)`/).map { String($0.output.1) }
        }
        #expect(names == RecordedEvent.fields)
    }

    // MARK: Engines

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"])) {
            $0.recordsEvents = true
            change(&$0)
        }
    }

    @Test func `has the requests of an engine when it is closed, with hits, misses and keys`() async throws {
        let engine = engine()
        let request = Request("http://h/cities", "images")
        for _ in 0..<2 { _ = try await engine.send(request) }
        let key = try await engine.key(of: request).description.prefix(12)
        await engine.close()
        let events = EventFileReader.last(100, in: temporary.directory)
        let kinds: [RecordedEvent.Kind] = [.miss, .stored, .hit]
        #expect(events.map(\.kind).filter(kinds.contains) == kinds)
        #expect(events.filter { [.hit, .miss].contains($0.kind) }.allSatisfy { $0.key == String(key) })
        #expect(events.allSatisfy { $0.process == Int64(getpid()) && !$0.program.isEmpty })
        let end = try #require(events.first { $0.kind == .ended && $0.interval == "request" })
        #expect(end.status == 200 && end.source == "network" && end.milliseconds != nil && end.url == "http://h/cities")
        let attempt = try #require(events.first { $0.kind == .began && $0.interval == "attempt" })
        #expect(attempt.parent == end.id && attempt.attempt == 1 && attempt.lane == "images")
    }

    @Test func `has no secrets of URLs, fields and bodies`() async throws {
        let engine = engine()
        var request = Request("http://user:s3cret@h/?token=s3cret", method: .post, body: .json(["password": "s3cret"]))
        request.headers[.authorization] = "Bearer s3cret"
        _ = try await engine.send(request)
        await engine.close()
        #expect(try text().contains(#""url":"http://h/?token=•••""#))
        #expect(try temporary.bytes().firstRange(of: Data("s3cret".utf8)) == nil)
    }

    @Test func `shows of a sealed store's requests no URL, tag and reason`() async throws {
        let seal = try AESGCMSeal(key: AESGCMSeal.firstKey)
        let engine = engine { $0.seal = seal }
        var request = Request("http://hidden/hidden")
        request.tags = ["hidden"]
        _ = try await engine.send(request)
        await engine.close()
        let text = try text()
        #expect(text.contains(#""status":200"#) && text.contains(#""key""#) && !text.contains("hidden"))
    }

    @Test func `does not exist unless the configuration asks for it`() async throws {
        let engine = engine { $0.recordsEvents = false }
        _ = try await engine.send(Request("http://h/"))
        #expect(!engine.activity.isObserved)
        await engine.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: temporary.directory.path)
        #expect(!names.contains { $0.hasPrefix("events") })
    }

    @Test func `is for its owner only`() async throws {
        _ = try await lines([.stored])
        let attributes = try FileManager.default.attributesOfItem(atPath: temporary.store.eventPath)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    // MARK: Limits

    @Test func `is replaced at its limit, and a reader follows it without a gap`() async throws {
        let file = file(limit: 1000)
        var reader = EventFileReader(directory: temporary.directory)
        var counts: [Int64] = []
        for count in 0..<100 {
            file.receive(.evicted(count: count))
            await file.flush()
            counts += reader.read().compactMap(\.count)
        }
        #expect(counts == Array(0..<100))
        let sizes = [temporary.store.eventPath, temporary.store.olderEventPath].compactMap { PartFile.size(of: $0) }
        #expect(sizes.count == 2 && sizes.allSatisfy { $0 <= 1000 })
        let last = EventFileReader.last(3, in: temporary.directory)
        #expect(last.compactMap(\.count) == [97, 98, 99])
    }

    @Test func `gives a reader that missed a whole file what is left`() async throws {
        let file = file(limit: 1000)
        file.receive(.evicted(count: 0))
        await file.flush()
        var reader = EventFileReader(directory: temporary.directory, includesEarlier: true)
        for count in 1..<100 {
            file.receive(.evicted(count: count))
            await file.flush()
        }
        let counts = reader.read().compactMap(\.count)
        // The file that was open, although it was removed since, and the two that are there.
        #expect(counts.first == 0 && counts.last == 99 && counts == counts.sorted() && counts.count < 100)
        #expect(reader.read().isEmpty)
    }

    @Test func `has whole lines of several writers, also while it is replaced`() async throws {
        let files = (0..<4).map { _ in file(limit: 100_000) }
        await withTaskGroup(of: Void.self) { group in
            for file in files {
                group.addTask {
                    for count in 0..<500 {
                        file.receive(.evicted(count: count))
                        if count % 20 == 19 { await file.flush() }
                    }
                }
            }
        }
        for path in [temporary.store.eventPath, temporary.store.olderEventPath] {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            #expect(!lines.isEmpty && lines.allSatisfy { RecordedEvent(line: $0.utf8) != nil })
        }
    }

    @Test func `is replaced within a flush that is larger than its limit`() async throws {
        let file = file(limit: 1000)
        for count in 0..<100 { file.receive(.evicted(count: count)) }
        await file.flush()
        let sizes = [temporary.store.eventPath, temporary.store.olderEventPath].compactMap { PartFile.size(of: $0) }
        #expect(sizes.count == 2 && sizes.allSatisfy { $0 <= 1000 })
        let counts = EventFileReader.last(100, in: temporary.directory).compactMap(\.count)
        #expect(counts.last == 99 && counts == Array((counts.first ?? 0)...99))
    }

    @Test func `leaves out an event that is larger than its limit, and counts it`() async throws {
        let file = file(limit: 1000)
        for reason in ["a", String(repeating: "b", count: 1000), "c"] { file.receive(.cacheFailed(reason: reason)) }
        await file.flush()
        file.receive(.stored)
        await file.flush()
        let events = EventFileReader.last(100, in: temporary.directory)
        #expect(events.map(\.kind).filter { $0 != .dropped } == [.failed, .failed, .stored])
        #expect(events.compactMap(\.reason) == ["a", "c"] && events.compactMap(\.count) == [1])
    }

    @Test func `has the next event in a line of its own after a process that was killed while it wrote`() async throws {
        try append(event("one") + "\n" + event("two").prefix(9))
        for _ in 0..<2 {
            let file = file()
            file.receive(.stored)
            await file.flush()
        }
        let kinds = EventFileReader.last(100, in: temporary.directory).map(\.kind.rawValue)
        #expect(kinds == ["one", "stored", "stored"])
        #expect(try text().split(separator: "\n", omittingEmptySubsequences: false).count == 5)
    }

    @Test func `says how many events could not be written, when one can`() async throws {
        let file = file()
        try FileManager.default.removeItem(at: temporary.directory)
        for _ in 0..<2 {
            for _ in 0..<3 { file.receive(.stored) }
            await file.flush()
        }
        #expect(!FileManager.default.fileExists(atPath: temporary.directory.path))
        try temporary.store.create()
        for _ in 0..<2 {
            file.receive(.stored)
            await file.flush()
        }
        let events = EventFileReader.last(100, in: temporary.directory)
        #expect(events.map(\.kind) == [.dropped, .stored, .stored] && events.first?.count == 6)
    }

    @Test func `drops events when too many wait for the disk`() {
        var buffer = EventBuffer()
        let event = EventBuffer.Received(event: .stored, time: WallTime(rawValue: 0), instant: .now)
        let schedules = (0..<EventBuffer.capacity + 8).map { _ in buffer.add(event) }
        #expect(schedules[0] == .soon && schedules[EventBuffer.batch - 1] == .now)
        #expect(schedules.count { $0 == .asBefore } == schedules.count - 2)
        let (events, dropped) = buffer.take()
        #expect(events.count == EventBuffer.capacity && dropped == 8)
        #expect(buffer.add(event) == .soon)
    }

    // MARK: Reading

    private func append(_ text: String) throws {
        try temporary.store.create()
        let descriptor = open(temporary.store.eventPath, O_CREAT | O_WRONLY | O_APPEND, 0o600)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data(text.utf8))
    }

    private func event(_ kind: String) -> String { #"{"kind":"\#(kind)","process":7,"time":1}"# }

    @Test(arguments: [("12.5", 12.5), ("1e300", 1e12), ("-1e300", 0)])
    func `has durations within bounds, whatever a program writes`(text: String, milliseconds: Double) throws {
        let line = #"{"time":1,"process":1,"kind":"ended","milliseconds":\#(text)}"#
        #expect(try #require(RecordedEvent(line: line.utf8)).milliseconds == milliseconds)
    }

    @Test func `is read from its end on, in whole lines`() throws {
        try append(event("old") + "\n")
        var reader = EventFileReader(directory: temporary.directory)
        #expect(reader.read().isEmpty && reader.hasFile)
        try append(event("one") + "\n" + event("two").prefix(9))
        #expect(reader.read().map(\.kind.rawValue) == ["one"])
        #expect(reader.read().isEmpty)
        try append(String(event("two").dropFirst(9)) + "\n")
        #expect(reader.read().map(\.kind.rawValue) == ["two"])
    }

    @Test func `is read from its start after it was truncated, and when it is created`() throws {
        var reader = EventFileReader(directory: temporary.directory)
        #expect(reader.read().isEmpty && !reader.hasFile)
        try append(event("one") + "\n" + event("two") + "\n{")
        #expect(reader.read().map(\.kind.rawValue) == ["one", "two"])
        #expect(truncate(temporary.store.eventPath, 0) == 0)
        try append(event("three") + "\n")
        #expect(reader.read().map(\.kind.rawValue) == ["three"])
    }

    /// The times at which a writer removes the half line that a full disk has left.
    enum Removal: CaseIterable, Sendable { case beforeRead, beforeAppend }

    @Test(arguments: Removal.allCases, [false, true])
    func `is read without repetition and gap when a half line is removed`(removal: Removal, isNew: Bool) throws {
        var reader = EventFileReader(directory: temporary.directory)
        let whole = event("one") + "\n"
        try append(whole + event("two").prefix(9))
        if isNew { reader = EventFileReader(directory: temporary.directory) }
        #expect(reader.read().map(\.kind.rawValue) == (isNew ? [] : ["one"]))
        #expect(truncate(temporary.store.eventPath, off_t(whole.utf8.count)) == 0)
        if removal == .beforeRead { #expect(reader.read().isEmpty) }
        try append(event("three") + "\n" + event("four") + "\n")
        #expect(reader.read().map(\.kind.rawValue) == ["three", "four"])
    }

    @Test func `says why it cannot be read, and nothing if it is missing`() throws {
        var reader = EventFileReader(directory: temporary.directory)
        #expect(reader.read().isEmpty && reader.error == nil)
        try temporary.store.create()
        try FileManager.default.createSymbolicLink(
            atPath: temporary.store.eventPath, withDestinationPath: temporary.store.cachePath)
        #expect(EventFileReader(directory: temporary.directory).error != nil)
        #expect(reader.read().isEmpty && reader.error?.message.contains("is a symbolic link") == true)
        try FileManager.default.removeItem(atPath: temporary.store.eventPath)
        #expect(reader.read().isEmpty && reader.error == nil && !reader.hasFile)
    }

    @Test func `may have lines that are no events, and events of newer versions`() throws {
        try append("\n{\n[]\nnull\n\u{0}\n{\"kind\":1,\"process\":7,\"time\":1}\n")
        try append(#"{"kind":"new","new":[1],"process":7,"status":"x","time":9223372036854775807}"# + "\n")
        let events = EventFileReader.last(100, in: temporary.directory)
        #expect(events.map(\.kind.rawValue) == ["new"])
        #expect(events.first?.json["new"] == [1] && events.first?.status == nil)
    }
}
