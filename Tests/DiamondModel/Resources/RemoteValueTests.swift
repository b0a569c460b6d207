import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

/// Stands in for an image: text that has to begin with `PNG`.
private struct Picture: Equatable, Sendable {
    let text: String

    init(_ data: Data) throws {
        text = String(decoding: data, as: UTF8.self)
        guard text.hasPrefix("PNG") else { throw NoPicture() }
    }

    init(text: String) { self.text = text }
}

private struct NoPicture: Error {}

@ModelActor
private final class Profile {
    var portraitURL = ""
    private let images: ResourceLoader<Picture>
    lazy var portrait = RemoteValue(images, default: Picture(text: "default")) { [unowned self] in portraitURL }

    init(_ images: ResourceLoader<Picture>) { self.images = images }
}

@ModelActor
@Suite("A remote value", .limit(minutes: 5)) struct RemoteValueTests {
    private func images(
        capacity: Int = 1_000, store: TemporaryStore? = nil, _ answer: @escaping @Sendable (String) async -> String
    ) -> (loader: ResourceLoader<Picture>, asked: Guarded<[String]>, engine: Engine) {
        let asked = Guarded<[String]>([])
        let transport = StubTransport { request throws(TransportError) in
            asked.withLock { $0.append(request.url) }
            return .stub(headers: [.cacheControl: "max-age=600"], body: await answer(request.url))
        }
        let engine = Engine(Engine.Configuration(testing: transport, store: store))
        return (ResourceLoader(engine, capacity: capacity) { data, _ in try Picture(data) }, asked, engine)
    }

    @Test func `URLs that only look the same have their own values`() async throws {
        let (loader, asked, _) = images { $0.hasSuffix("%C3%AB") ? "PNG1" : "PNG2" }
        let person = Profile(loader)
        person.portraitURL = "https://a.example/zo\u{EB}"
        #expect(try await person.portrait.load().text == "PNG1")
        person.portraitURL = "https://a.example/zoe\u{308}"
        #expect(person.portrait.value.text == "default")
        #expect(try await person.portrait.load().text == "PNG2")
        #expect(asked.withLock { $0.count } == 2)
    }

    @Test func `a value is loaded on request, and then kept in memory`() async throws {
        let (loader, asked, _) = images { _ in "PNG1" }
        let person = Profile(loader)
        #expect(person.portrait.value.text == "default")
        person.portraitURL = "https://a.example/1"
        #expect(asked.withLock { $0 }.isEmpty)
        #expect(try await person.portrait.load().text == "PNG1")
        #expect(person.portrait.value.text == "PNG1")
        try await person.portrait.load()
        #expect(asked.withLock { $0.count } == 1)
        let other = Profile(loader)
        other.portraitURL = "https://a.example/1"
        #expect(other.portrait.value.text == "PNG1")
    }

    @Test func `concurrent callers share one load and one decoding`() async throws {
        let gate = Gate()
        let (loader, asked, _) = images { _ in
            await gate.wait()
            return "PNG1"
        }
        let people = (0..<5).map { _ in Profile(loader) }
        for person in people { person.portraitURL = "https://a.example/1" }
        let loads = people.map { person in Task { try await person.portrait.load() } }
        await untilTrue { asked.withLock { $0.count } == 1 }
        gate.open()
        for load in loads { #expect(try await load.value.text == "PNG1") }
        #expect(asked.withLock { $0.count } == 1)
    }

    @Test func `a value for another URL is not shown, and the next load cancels its load`() async throws {
        let first = Gate()
        let (loader, asked, _) = images { url in
            if url.hasSuffix("1") { await first.wait() }
            return url.hasSuffix("1") ? "PNG1" : "PNG2"
        }
        let person = Profile(loader)
        person.portraitURL = "https://a.example/1"
        let load = Task { try await person.portrait.load() }
        await untilTrue { asked.withLock { $0.count } == 1 }
        person.portraitURL = "https://a.example/2"
        if case .none = person.portrait.state {} else { Issue.record("the state is that of the old URL") }
        #expect(try await person.portrait.load().text == "PNG2")
        first.open()
        #expect(try await load.value.text == "default")
        #expect(person.portrait.value.text == "PNG2")
        #expect(loader.existing("https://a.example/1") == nil)
    }

    @Test func `data that is no image is an error, and is not stored`() async throws {
        let store = TemporaryStore()
        let answers = Guarded(["<html>", "PNG1"])
        let (loader, asked, engine) = images(store: store) { _ in answers.withLock { $0.removeFirst() } }
        let person = Profile(loader)
        person.portraitURL = "https://a.example/1"
        await #expect(throws: NoPicture.self) { try await person.portrait.load() }
        if case .failed = person.portrait.state {} else { Issue.record("the state does not tell the error") }
        #expect(person.portrait.value.text == "default")
        #expect(try await person.portrait.load().text == "PNG1")
        #expect(asked.withLock { $0.count } == 2)
        await engine.close()
    }

    @Test func `the memory is bounded by cost, and evicted values are read from the cache again`() async throws {
        let store = TemporaryStore()
        let (loader, asked, engine) = images(capacity: 10, store: store) { url in "PNG\(url.suffix(1))" }
        for number in 1...5 { _ = try await loader.value(of: "https://a.example/\(number)") }
        let kept = (1...5).filter { loader.existing("https://a.example/\($0)") != nil }
        #expect(kept.count == 2)
        _ = try await loader.value(of: "https://a.example/1")
        #expect(asked.withLock { $0.count } == 5)
        await engine.close()
    }

    @Test func `clearing removes the value, and cancels its load`() async throws {
        let (loader, _, _) = images { _ in "PNG1" }
        let person = Profile(loader)
        person.portraitURL = "https://a.example/1"
        try await person.portrait.load()
        person.portrait.clear()
        #expect(person.portrait.value.text == "default")
        if case .none = person.portrait.state {} else { Issue.record("there is a state") }
    }

    @Test func `a caller that is canceled ends, and leaves no loading state`() async throws {
        let gate = Gate()
        let (loader, asked, _) = images { _ in
            await gate.wait()
            return "PNG1"
        }
        let person = Profile(loader)
        person.portraitURL = "https://a.example/1"
        let load = Task { try await person.portrait.load() }
        await untilTrue { asked.withLock { $0.count } == 1 }
        load.cancel()
        await #expect(throws: CancellationError.self) { try await load.value }
        if case .none = person.portrait.state {} else { Issue.record("there is a state") }
        gate.open()
        #expect(try await person.portrait.load().text == "PNG1")
    }
}
