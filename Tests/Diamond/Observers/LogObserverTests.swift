#if Logging
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import InMemoryLogging
import Logging
import Testing

@testable import Diamond

@Suite("The observer for swift-log") struct LogObserverTests {
    private let handler = InMemoryLogHandler()

    private func logger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = level
        return logger
    }

    private func send(_ level: Logger.Level) async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport()
        configuration.observers = [LogObserver(logger(level))]
        var request = Request("http://user:pass@h/?token=hidden")
        request.tags = ["b", "a"]
        _ = try await Engine(configuration).send(request)
    }

    @Test func `reports how attempts and requests end, without secrets`() async throws {
        try await send(.debug)
        try #require(handler.entries.map(\.message) == ["attempt ended", "request ended"])
        #expect(handler.entries.allSatisfy { $0.level == .debug && $0.metadata["status"] == "200" })
        #expect(handler.entries.allSatisfy { $0.metadata["url"] == "http://h/?token=•••" })
        #expect(handler.entries[0].metadata["parent"] == handler.entries[1].metadata["id"])
        #expect(handler.entries[0].metadata["attempt"] == "1" && handler.entries[1].metadata["source"] == "network")
        #expect(handler.entries[1].metadata["tags"] == ["a", "b"])
        #expect(handler.entries.allSatisfy { "\($0.metadata["duration"] ?? "")".hasSuffix(" seconds") })
        #expect(!"\(handler.entries)".contains("hidden") && !"\(handler.entries)".contains("pass"))
    }

    @Test func `reports every interval at the trace level, and none at the info level`() async throws {
        try await send(.info)
        #expect(handler.entries.isEmpty)
        try await send(.trace)
        #expect(
            handler.entries.map(\.message) == ["request began", "attempt began", "attempt ended", "request ended"])
    }

    @Test func `reports hits and misses with their requests, without secrets`() async throws {
        let temporary = TemporaryStore()
        let engine = temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"])) {
            $0.observers = [LogObserver(logger(.trace))]
        }
        let request = Request("http://user:pass@h/?token=hidden", "images")
        for _ in 0..<2 { _ = try await engine.send(request) }
        let key = try await engine.key(of: request).description.prefix(12)
        let lookups = handler.entries.filter { $0.metadata["key"] != nil }
        #expect(lookups.map(\.message) == ["nothing usable stored", "answered from the cache"])
        for entry in lookups {
            #expect(entry.metadata["method"] == "GET" && entry.metadata["url"] == "http://h/?token=•••")
            #expect(entry.metadata["lane"] == "images" && entry.metadata["key"] == "\(key)")
        }
        #expect(lookups.map { $0.metadata["source"] } == [nil, "cache"])
        #expect(!"\(handler.entries)".contains("hidden") && !"\(handler.entries)".contains("pass"))
    }

    @Test func `reports the offset at which a transfer was resumed`() throws {
        LogObserver(logger(.debug)).receive(.transferResumed(origin: "http://h:80", offset: 5, total: 10))
        try #require(handler.entries.map(\.level) == [.debug])
        #expect(handler.entries[0].metadata == ["server": "http://h:80", "offset": "5", "total": "10"])
    }

    @Test(arguments: [
        ActivityEvent.cacheEntryDropped(reason: "why"), .cacheEntriesLocked(reason: "why"),
        .cacheSetAside(file: "why"), .cacheFailed(reason: "why"),
    ]) func `warns of failures of the store`(event: ActivityEvent) throws {
        LogObserver(logger(.warning)).receive(event)
        try #require(handler.entries.map(\.level) == [.warning])
        #expect(handler.entries[0].metadata.values.contains("why"))
    }
}
#endif
