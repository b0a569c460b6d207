#if Tools
import Foundation
import Testing

@testable import Diamond
@testable import cachectl

@Suite("Values of the pages of the queue") struct QueueValueTests {
    @Test(arguments: [
        ([], "", "from 0 to 0, at most 0"), ([5], "0,1 100,1", "from 5 to 5, at most 5"),
        ([0, 10, 5], "0,19 50,1 100,10", "from 0 to 5, at most 10"), ([0, 0], "0,19 100,19", "from 0 to 0, at most 0"),
        ([-3, 1], "0,19 100,1", "from -3 to 1, at most 1"),
    ]) func `a line goes through numbers`(values: [Int], points: String, label: String) {
        let line = Sparkline(values)
        #expect(line.points == points && line.label == label)
    }

    @Test(
        arguments: [
            ("", [], "/queue/jobs?after=0"), ("state=dead&match=", [.dead], "/queue/jobs?state=dead&after=0"),
            ("match=a%26b+c&other=1", [], "/queue/jobs?match=a%26b%20c&after=0"),
            ("lane=%20x&key=+", [], "/queue/jobs?key=%20&lane=%20x&after=0"),
        ] as [(String, Set<ReplayState>, String)])
    func `a query keeps the fields that are given`(text: String, states: Set<ReplayState>, address: String) throws {
        let query = try JobQuery(FormFields(text))
        #expect(query.filter.fields.states == states && query.filter.fields.includesSignedOut)
        #expect(query.address() == address)
    }

    @Test(arguments: ["state=alive", "match=*", "error=**"])
    func `a query refuses a field that it cannot read`(text: String) {
        #expect(throws: PageProblem.self) { try JobQuery(FormFields(text)) }
    }

    @Test func `the depth of the queue has a line for each state and lane`() {
        let samples = [
            QueueSample(counts: [.ready: 2], lanes: ["a": 2]),
            QueueSample(counts: [.ready: 4, .dead: 9], lanes: ["a": 1, "b": 3], errors: ["status 503": 2], failed: 2),
        ]
        let page = QueuePage(counts: [.ready: 5], holds: [], samples: samples, isWritable: false)
        #expect(page.states.map(\.name) == ReplayState.allCases.map(\.description))
        #expect(page.states[0].count == "5" && page.states[0].line.label == "from 2 to 5, at most 5")
        #expect(page.lanes.map(\.name) == ["b", "a"] && page.lanes[1].line.label == "from 2 to 1, at most 2")
        #expect(page.errors.map(\.path) == ["/queue/jobs?error=status%20503"])
        #expect(page.errorNote == "of the first 2 of 9 jobs" && page.oldest == nil)
    }

    @Test func `a queue forgets the oldest samples`() {
        let samples = QueueSamples()
        for number in 1...200 { samples.add(QueueSample(counts: [.ready: number])) }
        #expect(samples.all.count == 180)
        #expect(samples.all.first?.counts == [.ready: 21] && samples.all.last?.counts == [.ready: 200])
    }

    @Test(arguments: [false, true]) func `a question names the jobs`(isChanged: Bool) throws {
        let query = try JobQuery(FormFields("state=dead"))
        let bulk = JobBulk(action: .redrive, filter: query.filter)
        let page = BulkPage.question(bulk, of: query, jobs: [5, 6, 9], isChanged: isChanged)
        #expect(page.jobs == "3 jobs" && page.asks && page.range == "The first one is job 5, the last one job 9.")
        #expect((page.message != nil) == isChanged)
        let other = BulkPage.question(bulk, of: query, jobs: [5, 7, 9], isChanged: isChanged)
        #expect(other.fingerprint != page.fingerprint)
        #expect(!BulkPage.question(bulk, of: query, jobs: [], isChanged: isChanged).asks)
    }

    @Test func `an action on all jobs finds them on all pages`() async throws {
        let queue = try Shell().queue()
        let count = 1001
        for number in 1...count {
            var request = Request("https://a.example/\(number)", method: .post)
            request.replay = ReplayPolicy(.durable)
            try await queue.enqueue(request)
        }
        let bulk = JobBulk(action: .hold, filter: JobFilter(match: TextPattern(argument: "a.example")))
        let found = try await bulk.preview(in: queue)
        #expect(found.done == (1...count).map(Int64.init) && found.refusals.isEmpty)
        #expect(try queue.counts()[.held] == 0)
    }

    @Test func `a note has the open jobs of lanes that are not counted`() async throws {
        let queue = try Shell().queue()
        for number in 1...3 {
            var request = Request("https://a.example/\(number)", method: .post)
            request.replay = ReplayPolicy(.durable)
            request.lane = Lane("lane \(number)")
            try await queue.enqueue(request)
        }
        var lanes = 0
        let some = try QueueSample(of: queue, lanes: []) {
            lanes += 1
            return lanes > 1
        }
        let all = try QueueSample(of: queue, lanes: [])
        let notes = [some, all].map { sample in
            QueuePage(counts: sample.counts, holds: [], samples: [sample], isWritable: false).laneNote
        }
        #expect(some.lanes == ["lane 1": 1] && notes == ["and 2 jobs in other lanes", nil])
    }

    @Test func `an edit that is a conflict shows what it changes in the stored request`() {
        let base = Fingerprint.text(of: "a\nold")
        let page = JobEditPage(id: 7, text: "a\nmine", base: base, problem: "changed", stored: "a\ntheirs")
        #expect(page.isConflict && page.base == Fingerprint.text(of: "a\ntheirs") && page.text == "a\nmine")
        #expect(page.changes.map(\.text) == ["- theirs", "+ mine"] && page.changes.map(\.isAdded) == [false, true])
        let running = JobEditPage(id: 7, text: "a\nmine", base: base, problem: "running", stored: "a\nold")
        #expect(!running.isConflict && running.changes.isEmpty)
    }
}
#endif
