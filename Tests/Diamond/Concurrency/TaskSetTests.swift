import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A set of tasks", .limit(minutes: 5)) struct TaskSetTests {
    private let tasks = TaskSet<String>()

    @Test func `settles when all tasks have ended`() async {
        let (gate, ended) = (Gate(), Guarded(0))
        for _ in 0..<3 {
            tasks.add {
                await gate.wait()
                ended.withLock { $0 += 1 }
            }
        }
        let settling = Task { await tasks.waitForAll() }
        gate.open()
        await settling.value
        #expect(ended.withLock { $0 } == 3)
        await tasks.waitForAll()
    }

    @Test func `cancels all its tasks`() async {
        let isCanceled = Promise<Bool>()
        tasks.add {
            let signal = Signal()
            await signal.wait()
            isCanceled.fulfill(with: Task.isCancelled)
        }
        tasks.cancel()
        #expect(await isCanceled.value())
        await tasks.waitForAll()
    }

    @Test func `a wait for a task set ends when the waiting task is canceled`() async {
        let gate = Gate()
        tasks.add { await gate.wait() }
        let settling = Task { await tasks.waitForAll() }
        settling.cancel()
        await settling.value
        gate.open()
        await tasks.waitForAll()
    }

    @Test func `gives a key to one task at a time`() async {
        let (first, second) = (Gate(), Gate())
        let started = Guarded<[String]>([])
        func add(_ name: String, until gate: Gate) {
            tasks.add(for: "key") { [tasks] in
                started.withLock { $0.append(name) }
                return {
                    await gate.wait()
                    tasks.free("key")
                }
            }
        }
        add("first", until: first)
        add("refused", until: first)
        #expect(started.withLock { $0 } == ["first"])
        await tasks.wait { $0 != "key" }
        first.open()
        await tasks.waitForAll()
        add("second", until: second)
        second.open()
        await tasks.wait { $0 == "key" }
        await tasks.waitForAll()
        #expect(started.withLock { $0 } == ["first", "second"])
    }

    @Test func `has a task with a key before the work of the task is prepared`() async {
        let isCanceled = Promise<Bool>()
        tasks.add(for: "key") { [tasks] in
            tasks.cancel()
            return {
                isCanceled.fulfill(with: Task.isCancelled)
                tasks.free("key")
            }
        }
        #expect(await isCanceled.value())
        await tasks.waitForAll()
    }

    @TaskLocal private static var name: String?

    @Test(arguments: [false, true])
    func `passes the caller's task-local values on unless a task is detached`(
        isDetached: Bool
    ) async {
        let name = Promise<String?>()
        Self.$name.withValue("caller") {
            _ = tasks.add(isDetached: isDetached) { name.fulfill(with: Self.name) }
        }
        #expect(await name.value() == (isDetached ? nil : "caller"))
    }
}
