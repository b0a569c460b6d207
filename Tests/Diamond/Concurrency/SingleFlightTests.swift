import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("A single flight", .limit(minutes: 5)) struct SingleFlightTests {
    private typealias Flights = SingleFlight<String, Int, Event>

    private enum Event: FlightEvent, Hashable {
        case meter(Int)
        case word(String)

        var kind: Bool { if case .meter = self { true } else { false } }
    }

    private final class Waiter: PriorityWaiter {
        private let state = Guarded(
            (priority: RequestPriority.normal, change: nil as (@Sendable (RequestPriority) -> Void)?))

        var priority: RequestPriority { state.withLock { $0.priority } }

        func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) {
            state.withLock { $0.change = change }
        }

        func set(_ priority: RequestPriority) {
            let change = state.withLock { state in
                state.priority = priority
                return state.change
            }
            change?(priority)
        }
    }

    private let flights = Flights()
    private let heard = Guarded<[Event]>([])
    private let flight = Guarded<Flights.Flight?>(nil)

    private func join(
        _ waiter: Waiter = Waiter(),
        hearing: Bool = false,
        joined: Gate = Gate(),
        until gate: Gate
    ) -> Task<Flights.Outcome?, Never> {
        var hear: (@Sendable (Event) -> Void)?
        if hearing { hear = { [heard] event in heard.withLock { $0.append(event) } } }
        return Task { [flights, flight, hear] in
            await flights.outcome(
                for: "a", by: .init(of: waiter, onEvent: hear), onJoin: { joined.open() },
                operation: { operation in
                    flight.withLock { $0 = operation }
                    await gate.wait()
                    return Task.isCancelled ? -1 : 7
                })
        }
    }

    private func value(of task: Task<Flights.Outcome?, Never>) async -> Int? {
        if case .value(let value)? = await task.value { value } else { nil }
    }

    @Test func `runs one operation for all callers that arrive during it`() async {
        let gate = Gate()
        let joined = (0..<3).map { _ in Gate() }
        let tasks = joined.map { join(joined: $0, until: gate) }
        for gate in joined { await gate.wait() }
        gate.open()
        for task in tasks { #expect(await value(of: task) == 7) }
        let next = Gate()
        next.open()
        #expect(await value(of: join(until: next)) == 7)
    }

    @Test func `delivers its result even if it ends before its first caller waits`() async {
        let outcome = await flights.outcome(for: "a", by: .init(of: Waiter())) { _ in 1 }
        guard case .value(1)? = outcome else {
            Issue.record("no value")
            return
        }
    }

    @Test func `is joined, but not started, by a caller that needs none`() async {
        #expect(await flights.outcome(for: "a", by: .init(of: Waiter()), isNeeded: { false }) { _ in 1 } == nil)
        let (gate, joined) = (Gate(), Gate())
        let first = join(joined: joined, until: gate)
        await joined.wait()
        let joinedToo = Gate()
        let second = Task { [flights] in
            await flights.outcome(
                for: "a", by: .init(of: Waiter()), isNeeded: { false }, onJoin: { joinedToo.open() }
            ) { _ in 1 }
        }
        await joinedToo.wait()
        gate.open()
        #expect(await value(of: first) == 7)
        #expect(await value(of: second) == 7)
    }

    @Test func `is canceled when the last caller has left, and not before`() async {
        let gate = Gate()
        let joined = (0..<2).map { _ in Gate() }
        let tasks = joined.map { join(joined: $0, until: gate) }
        for gate in joined { await gate.wait() }
        tasks[0].cancel()
        guard case .canceled? = await tasks[0].value else {
            Issue.record("not canceled")
            return
        }
        let canceled = Gate()
        let operation = flight.withLock { $0 }
        #expect(operation?.priority == .normal)
        tasks[1].cancel()
        guard case .canceled? = await tasks[1].value else {
            Issue.record("not canceled")
            return
        }
        // It is not joined any more.
        canceled.open()
        #expect(await value(of: join(until: canceled)) == 7)
        gate.open()
    }

    @Test func `is left by a caller whose time is up, and the others stay`() async {
        let (gate, joined, clock) = (Gate(), Gate(), TestClock())
        let first = join(joined: joined, until: gate)
        await joined.wait()
        let second = Task { [flights] in
            await flights.outcome(for: "a", by: .init(of: Waiter(), within: TimeLimit(.seconds(1), by: clock))) { _ in 1
            }
        }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(1))
        guard case .late? = await second.value else {
            Issue.record("not late")
            return
        }
        gate.open()
        #expect(await value(of: first) == 7)
    }

    @Test func `has the highest priority of its callers, also while it waits`() async {
        let gate = Gate()
        let (first, second) = (Waiter(), Waiter())
        let joined = (0..<2).map { _ in Gate() }
        let one = join(first, joined: joined[0], until: gate)
        await joined[0].wait()
        await untilTrue { [flight] in flight.withLock { $0 } != nil }
        let operation = flight.withLock { $0 }
        let told = Guarded<[RequestPriority]>([])
        operation?.onPriorityChange { priority in told.withLock { $0.append(priority) } }
        first.set(.low)
        #expect(operation?.priority == .low)
        second.set(.high)
        let two = join(second, joined: joined[1], until: gate)
        await joined[1].wait()
        await untilTrue { operation?.priority == .high }
        first.set(.normal)
        #expect(operation?.priority == .high && told.withLock { $0 } == [.low, .high])
        gate.open()
        #expect(await value(of: one) == 7)
        #expect(await value(of: two) == 7)
    }

    /// The events before a caller has joined, and those that it receives.
    private static let histories: [(all: [Event], missed: [Event])] = [
        ([.word("a")], [.word("a")]), ([.meter(1)], [.meter(1)]),
        ([.meter(1), .word("a"), .word("b")], [.meter(1), .word("b")]),
        ([.meter(1), .word("a"), .meter(2)], [.word("a"), .meter(2)]),
    ]

    @Test(arguments: histories.indices) func `delivers the last event of each kind to a late caller`(
        index: Int
    ) async {
        let (all, missed) = Self.histories[index]
        let gate = Gate()
        let joined = (0..<2).map { _ in Gate() }
        let first = join(joined: joined[0], until: gate)
        await joined[0].wait()
        await untilTrue { [flight] in flight.withLock { $0 } != nil }
        for event in all { flight.withLock { $0 }?.report(event) }
        let late = join(hearing: true, joined: joined[1], until: gate)
        await joined[1].wait()
        await untilTrue { [heard] in heard.withLock { $0.count } == missed.count }
        flight.withLock { $0 }?.report(.word("later"))
        #expect(heard.withLock { $0 } == missed + [.word("later")])
        gate.open()
        _ = await (first.value, late.value)
    }

    @Test func `dismisses all but its first caller`() async {
        let gate = Gate()
        let joined = (0..<2).map { _ in Gate() }
        let first = join(joined: joined[0], until: gate)
        await joined[0].wait()
        let second = join(joined: joined[1], until: gate)
        await joined[1].wait()
        await untilTrue { [flight] in flight.withLock { $0 } != nil }
        flight.withLock { $0 }?.dismissOthers()
        guard case .dismissed? = await second.value else {
            Issue.record("not dismissed")
            return
        }
        gate.open()
        #expect(await value(of: first) == 7)
    }

    @Test func `cancels only operations that have begun`() async {
        let gates = ["a", "b"].map { _ in Gate() }
        let operations = Guarded<[String: Flights.Flight]>([:])
        let tasks = zip(["a", "b"], gates).map { key, gate in
            Task { [flights] in
                await flights.outcome(for: key, by: .init(of: Waiter())) { flight in
                    operations.withLock { $0[key] = flight }
                    await gate.wait()
                    return Task.isCancelled ? -1 : 7
                }
            }
        }
        await untilTrue { operations.withLock { $0.count } == 2 }
        operations.withLock { $0["a"] }?.begin()
        flights.cancelBegun()
        for gate in gates { gate.open() }
        #expect(await value(of: tasks[0]) == -1)
        #expect(await value(of: tasks[1]) == 7)
    }
}
