import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("A dependency that is freed", .limit(minutes: 5)) struct DependencyFreeingTests {
    /// An object that an app captures, and that runs a closure when it is deallocated.
    private final class DeallocationHook: Sendable {
        private let count: Guarded<Int>

        init(_ count: Guarded<Int>) { self.count = count }

        deinit {
            Connection(Request("http://h/own")).addDependency(Connection(Request("http://h/other")))
            count.withLock { $0 += 1 }
        }
    }

    @Test func `a freed dependency releases the app's closures without holding a lock`() {
        let rounds = Effort.rounds(4000, soaking: 200_000)
        let freed = Guarded(0)
        let target = Connection(Request("http://h/"))
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<rounds {
                let connection = Connection(Request("http://h/a"))
                connection.addDependency(target) { [toucher = DeallocationHook(freed)] _, _ in
                    withExtendedLifetime(toucher) {}
                }
            }
        }
        #expect(freed.withLock { $0 } == 4 * rounds)
    }

    @Test func `a freed dependency releases its failure handler without holding a lock`() {
        let connection = Connection(Request("http://h/"))
        let states = Guarded<[ConnectionState]>([])
        connection.failedDependencies = .custom { [reader = ConnectionReader(connection, states)] _, _ in
            withExtendedLifetime(reader) { true }
        }
        connection.failedDependencies = .ignore
        #expect(states.withLock { $0 } == [.ready])
    }

    /// Reads from the connection when it is deallocated.
    private final class ConnectionReader: Sendable {
        private let state: @Sendable () -> ConnectionState?
        private let states: Guarded<[ConnectionState]>

        init(_ connection: Connection, _ states: Guarded<[ConnectionState]>) {
            (state, self.states) = ({ [weak connection] in connection?.state }, states)
        }

        deinit {
            if let state = state() { states.withLock { $0.append(state) } }
        }
    }

    private final class Remains: Sendable {
        let last: Guarded<Connection?>
        private let reference: Guarded<Weak>

        private struct Weak { weak var connection: Connection? }

        init(_ connection: Connection, awaitedBy last: Connection) {
            self.last = Guarded(last)
            reference = Guarded(Weak(connection: connection))
        }

        /// The connection, if it still exists.
        func revived() -> Connection? { reference.withLock { $0.connection } }
    }

    @Test func `a dependency that is retained again while it is freed keeps its own dependencies`() {
        let target = Connection(Request("http://h/"))
        for _ in 0..<Effort.rounds(20_000, soaking: 1_000_000) {
            let remains: Remains = {
                let (middle, last) = (Connection(Request("http://h/a")), Connection(Request("http://h/b")))
                middle.addDependency(target)
                last.addDependency(middle)
                return Remains(middle, awaitedBy: last)
            }()
            let revived = Guarded<Connection?>(nil)
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                guard index > 0 else {
                    let last = remains.last.withLock { last in
                        defer { last = nil }
                        return last
                    }
                    return withExtendedLifetime(last) {}
                }
                let connection = remains.revived()
                revived.withLock { $0 = connection }
            }
            if let connection = revived.withLock({ $0 }) { #expect(connection.dependencies == [target]) }
        }
    }

    @Test func `a freed chain of dependencies may be longer than the stack is deep, on any threads`() {
        let rounds = Effort.rounds(20_000, soaking: 1_000_000)
        let count = Guarded(0)
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            var last: Connection?
            for _ in 0..<rounds {
                let connection = CountedConnection(Request("http://h/"))
                connection.count = count
                if let last { connection.addDependency(last) }
                last = connection
            }
        }
        #expect(count.withLock { $0 } == 2 * rounds)
    }

    private final class CountedConnection: Connection, @unchecked Sendable {
        var count: Guarded<Int>?

        deinit { count?.withLock { $0 += 1 } }
    }
}
