import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes

// Adds jobs to a queue, or sends them, for as long as it lives, beside others of its kind, any of which may be killed
// at any moment:
//
// QueueHammer produce PLACE BASE RUN LANE adds 40 jobs, and says each when it is durable: its id and its text
// QueueHammer work PLACE ends at the point that DIAMOND_FAULT names, after-send:3 at the third time, or stops there
// until it is let go on, where DIAMOND_FAULT_STOPS is set
// QueueHammer serve DIRECTORY does the work of an engine that replays automatically, and ends alike
// QueueHammer save DIRECTORY BASE TEXT held|live makes one object and changes it twice, by saves that are queued; goes
// on where an earlier process of this was killed
// QueueHammer family DIRECTORY BASE TEXT does the same with an object and three that refer to it
// QueueHammer network ends when it is told of a link that comes up, in a network of its own
// QueueHammer clock says the seconds since 1970 by its wall clock
//
// PLACE is a directory, or the URL of a PostgreSQL database. With DIAMOND_CLOCK_AHEAD, the process's wall clock is ahead
// by so many seconds.

let arguments = CommandLine.arguments.dropFirst().map { $0 }

@Sendable func fail(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("QueueHammer: \(reason)\n".utf8))
    exit(1)
}

/// Jobs of one lane, each with a number: what arrives shows the order.
func produce(_ place: String, _ base: String, _ run: String, _ lane: String) async throws {
    let queue = try await Place(place).queue()
    // Beyond those of an earlier process of the same lane.
    let first = try queue.count(ReplayFilter(orderingKey: lane))
    for number in first..<first + 40 {
        let text = "\(run)/\(lane)/\(number)"
        var request = Request("\(base)/notes", method: .post, body: .json(["text": .string(text)]))
        request.replay = ReplayPolicy(.durable, orderingKey: lane, order: lane.hasPrefix("s") ? .strict : .ordered)
        let id = try await queue.enqueue(request)
        print(id.map { "\($0) \(text)" } ?? "none")
        fflush(nil)
    }
    // Until it is killed: it waits for nothing, and no test waits for it.
    try await Task.sleep(for: .seconds(3600))
}

func work(_ text: String) async throws {
    let place = try await Place(text)
    var configuration = Engine.Configuration(store: place.store)
    configuration.observers = []
    let engine = Engine(configuration)
    let fault = Fault()
    let queue = try place.queue(of: engine)
    // It is killed often, and that is no fault of the jobs: enough of it would make one poison.
    if fault.isNone { try await queue.allowSuddenTermination(true) }
    let replayer = try place.replayer(through: engine) { fault.pass($0.rawValue) }
    let summary = await replayer.run()
    if let error = summary.error { fail("\(error)") }
}

/// An engine that replays automatically, until the process is killed.
func serve(_ directory: String) async throws {
    let fault = Fault()
    var configuration = Engine.Configuration(store: Store(directory: URL(filePath: directory)))
    configuration.observers = []
    configuration.replays = .automatically
    configuration.replayPass = { fault.pass($0.rawValue) }
    let engine = Engine(configuration)
    if fault.isNone { try await engine.queue().allowSuddenTermination(true) }
    try await Task.sleep(for: .seconds(3600))
    await engine.close()
}

func watchNetwork() async throws {
    let changes = SystemReachability().changes
    let process = try ChildProcess(URL(filePath: "/bin/sh"), ["-c", "PATH=$PATH:/sbin:/usr/sbin ip link set lo up"])
    guard await process.ended() == .exited(0) else { fail("the link does not come up") }
    for await _ in changes { return }
}

do {
    switch (arguments.first, arguments.count) {
    case ("produce", 5): try await produce(arguments[1], arguments[2], arguments[3], arguments[4])
    case ("work", 2): try await work(arguments[1])
    case ("serve", 2): try await serve(arguments[1])
    case ("save", 5):
        try await Saver(arguments[1], arguments[2], arguments[3], isHeld: arguments[4] == "held").save()
    case ("family", 4): try await FamilySaver(arguments[1], arguments[2], arguments[3]).save()
    case ("network", 1): try await watchNetwork()
    case ("clock", 1): print(Date().timeIntervalSince1970)
    default:
        FileHandle.standardError.write(
            Data(
                "usage: QueueHammer produce PLACE BASE RUN LANE | work PLACE | serve DIRECTORY | save DIRECTORY BASE TEXT held|live | family DIRECTORY BASE TEXT | network | clock\n"
                    .utf8))
        exit(64)
    }
} catch {
    fail("\(error)")
}
