import Crypto
import Diamond
import DiamondCurlCommand
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

#if AsyncHTTPClient
import AsyncHTTPClient
#endif
#if os(iOS) && canImport(SwiftUI)
import BackgroundTasks
import SwiftUI
#endif
#if Logging
import Logging
#endif
#if Tools
import ServiceLifecycle
import UnixSignals
#endif

/// The code of README and documentation, compiled; the first test proves that it is the same.
@Suite("Code in the documentation") struct DocumentationTests {
    @Test(arguments: [
        "README.md", "Sources/Diamond/Documentation.docc/Diamond.md",
        "Sources/Diamond/Documentation.docc/Architecture.md",
        "Sources/Diamond/Documentation.docc/CanonicalForm.md", "Sources/Diamond/Documentation.docc/Sealing.md",
        "Sources/Diamond/Documentation.docc/RunningConnections.md", "Sources/Diamond/Documentation.docc/Retrying.md",
        "Sources/Diamond/Documentation.docc/Replaying.md",
        "Sources/Diamond/Documentation.docc/WritingAStorageDriver.md",
        "Sources/Diamond/Documentation.docc/ChoosingATransport.md",
        "Sources/Diamond/Documentation.docc/Intercepting.md",
        "Sources/Diamond/Documentation.docc/CachingResponses.md",
        "Sources/Diamond/Documentation.docc/ObservingQueries.md",
        "Sources/Diamond/Documentation.docc/KeepingCookies.md", "Sources/Diamond/Documentation.docc/SigningIn.md",
        "Sources/Diamond/Documentation.docc/WatchingActivity.md",
        "Sources/Diamond/Documentation.docc/TestingYourApp.md",
        "Sources/Diamond/Documentation.docc/StreamingResponses.md",
        "Sources/Diamond/Documentation.docc/Uploading.md",
        "Sources/Diamond/Documentation.docc/DescribingAnAPI.md", "Sources/Diamond/Documentation.docc/LoadingPages.md",
        "Sources/Diamond/Documentation.docc/IsolatedToTheMainActor.md",
        "Sources/Diamond/Documentation.docc/ComingFromAlamofire.md",
        "Sources/DiamondCurlCommand/Documentation.docc/DiamondCurlCommand.md",
        "Sources/DiamondCurlCommand/Documentation.docc/ImportingAndExportingCurl.md",
    ]) func `the documentation shows only code that compiles here`(path: String) throws {
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let sources = ["", "+Calls", "+Queries", "+Storages"].map { "DocumentationTests\($0).swift" }
        let compiled = Set(
            try sources.flatMap {
                try String(contentsOf: root.appending(path: "Tests/Diamond/\($0)"), encoding: .utf8).lines
            })
        // What needs DiamondModel is compiled among its tests.
        for block in text.swiftBlocks where !block.contains(".package(") && !block.contains("import DiamondModel") {
            for line in block.lines where !line.hasPrefix("import ") {
                #expect(compiled.contains(line), "\(path): \(line)")
            }
        }
    }

    @Test func `the documentation has code`() throws {
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(text.swiftBlocks.count == 3)
        #expect(text.swiftBlocks[0].lines.count >= 15)
    }

    private var root: URL { URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..") }

    /// Never called: compiling it is the test.
    private func readme() async throws {
        nonisolated struct City: Decodable {
            let name: String
            let population: Int
        }

        nonisolated struct Cities: Decodable {
            let items: [City]
        }

        let engine = Engine()  // with a store for this program: `cachectl list --app NAME`

        var request = Request("http://127.0.0.1:8080/cities", parameters: ["country": "DE", "page": 1])
        request.cache = .automatic(maxAge: .seconds(60))  // if the server sends no lifetime

        let response = try await engine.send(request)
        print(response.source, try response.decode(Cities.self).items.map(\.name))
        let cities = try await engine.send(request.decoding(Cities.self))  // a status other than 2xx throws
        print(cities)

        request.parameters["page"] = 2  // a value: change it, send it again
        let connection = engine.start(request)  // or run it as an Operation, with dependencies
        print(try await connection.response.source)

        try request.json().write(to: URL(filePath: "request.json"))  // and `cachectl send request.json`

        var note = Request("http://127.0.0.1:8080/notes", method: .post, body: .json(["text": "milk"]))
        note.replay = .durable  // on disk at once; if it cannot be sent now, engine.replayer() sends it later
        if case .queued(let job) = try await engine.submit(note) { print(job) }
        await engine.close()  // before the program ends: cancels running requests, and writes the rest to disk
    }

    private func curlCommands(of engine: Engine) throws {
        var copied = try Request(curl: "curl 'https://api.example.com/cities?page=1' -H 'Accept: application/json'")
        copied.parameters["page"] = 2  // the query of the command is in the parameters
        print(try copied.curlCommand())

        let relative = Request("cities", parameters: ["country": "DE"])
        print(try engine.curlCommand(of: relative))  // with the engine's base URL and headers
    }

    private func importingCurl(into engine: Engine) async throws {
        var search = try Request(curl: "curl 'https://api.example.com/cities?q=ber&page=1' -H 'Accept: */*'")
        search.parameters["page"] = 2
        search.headers[.accept] = nil
        print(try await engine.send(search).text)

        search.headers[.authorization] = nil
        search.credentials = [.bearer(.secret("access"))]

        print(try search.curlCommand())  // … -H "Authorization: Bearer $ACCESS"
        print(try engine.curlCommand(of: Request("cities")))  // with the engine's base URL and headers
    }

    nonisolated struct Town: Codable, Sendable {  // is decoded away from the main actor
        var name: String
    }

    nonisolated struct TownList: Endpoint {  // a value for the engine
        typealias Output = [Town]
        var country: String
        var request: Request { Request("towns", parameters: ["country": country]) }
    }

    @MainActor final class TownScreen {  // such a project implies `@MainActor`
        private let engine: Engine
        private var connection: Connection?
        private(set) var towns: [Town] = []
        private(set) var message: String?

        init(engine: Engine) { self.engine = engine }

        func load() async {
            do throws(ConnectionError) {
                towns = try await engine.send(TownList(country: "DE"))
            } catch {
                message = error.textForUser  // see below
            }
        }

        func reload() {
            connection = engine.send(Request("towns", cache: .reload), on: .main) { result in
                self.towns = (try? result.get().decode([Town].self)) ?? self.towns
            }
        }
    }

    private func comingFromOthers(to engine: Engine) async throws {
        let show: @Sendable (Result<Response, ConnectionError>) -> Void = { _ in }

        let towns = try await engine.send(Request("towns", parameters: ["country": "DE"]).decoding([Town].self))
        print(towns)

        var creation = Request("towns", method: .post, body: .json(["name": "Bonn"]))
        creation.headers[.idempotencyKey] = UUID().uuidString  // the server acts once, so it may be repeated
        engine.send(creation, on: .main) { result in show(result) }

        let town = try await engine.send(Request("towns/1").decoding(Town.self))
        print(town)

        let stored = try await engine.send(Request("towns", cache: .networkElseCache))  // the network first
        print(stored.source, stored.text)
    }

    private func dependencies(of engine: Engine) async throws {
        let login = engine.connection(for: Request("https://api.example.com/login", method: .post))
        let cities = engine.connection(for: Request("https://api.example.com/cities"))
        cities.addDependency(login) { request, response in
            request.headers[.authorization] = "Bearer " + response.text
        }
        engine.start(cities)
        engine.start(login)
        let response = try await cities.response
        print(response)
    }

    private func queue(of engine: Engine) {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let report = engine.connection(for: Request("https://api.example.com/report"))
        report.completionBlock = { print("finished") }
        queue.addOperation(report)
    }

    private func lanes() {
        var configuration = Engine.Configuration()
        configuration.lanes = [.images: LaneLimits(width: 4), .api: .serial]
        let engine = Engine(configuration)

        var request = Request("https://api.example.com/cities")
        request.lane = .api
        engine.start(request)
    }

    private func holding(_ engine: Engine) async throws {
        try await engine.queue().hold(.engine, reason: "the user is offline")  // including jobs of the queue
        try await engine.queue().hold(.lane(.images), reason: "roaming")
        try await engine.queue().release(.engine)  // everything but images is sent again
    }

    private func pausing(_ engine: Engine) async {
        let report = engine.start(Request("https://api.example.com/report"))
        report.pause()
        report.resume()
        for await state in report.states { print(state) }  // ready, executing, waiting, paused, finished
    }

    private func batches(of engine: Engine, names: [String]) async {
        let batch = engine.batch(names.map { Request("https://api.example.com/cities/\($0)") })
        engine.start(batch)
        for await item in batch.items {
            print(names[item.index], item.result, "\(batch.completed) of \(batch.count)")
        }
        let failures = await batch.results.filter { if case .failure = $0 { true } else { false } }
        print(failures.count)

        let all = engine.batch(names.map { Request("https://api.example.com/cities/\($0)") }, isFailingFast: true) {
            $0.status.kind != .successful
        }
        let report = engine.connection(for: Request("https://api.example.com/report", method: .post))
        report.addDependency(all.operation)
        engine.start(all)
        engine.start(report)
    }

    private func typedBatch(of engine: Engine) async throws {
        let connections = ["Kyoto", "Nara"].map { engine.connection(for: GetCity(name: $0)) }
        let typed = Batch(connections)
        engine.start(typed)
        for await progress in typed.progress { print(progress.completed, "of", progress.count) }
        for connection in connections { print(try await connection.output.id) }
    }

    private func closing(_ engine: Engine) async {
        await engine.close(within: .seconds(10))
    }

    #if Tools
    struct EngineService: Service {
        let engine: Engine

        func run() async throws {
            try? await gracefulShutdown()  // a cancellation leaves no time
            await engine.close(within: .seconds(10))
        }
    }

    struct ReplayerService: Service {
        let replayer: Replayer

        func run() async throws {
            await withGracefulShutdownHandler {
                _ = await replayer.run()
            } onGracefulShutdown: {
                replayer.stop()  // running jobs finish
            }
        }
    }

    private func serving(_ engine: Engine) async throws {
        let services: [any Service] = [EngineService(engine: engine), ReplayerService(replayer: try engine.replayer())]
        let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm])
        try await group.run()
    }
    #endif

    #if canImport(Darwin)
    private func sharing() {
        let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.com.example.shop")
        let shared = group.map { Store(directory: $0.appending(path: "Diamond")) }  // nil without the entitlement
        let engine = Engine(.init(store: shared ?? .default))
        print(engine)
    }
    #endif

    private func keeping() async throws {
        let engine = Engine()
        let cache = engine.cache  // nil if the store cannot be opened: see engine.cacheFailure
        cache?.memoryCapacity = 64 << 20
        cache?.diskCapacity = 1 << 30
        try await engine.invalidate(.tag("cities"))
        try await cache?.invalidate(.host("api.example.com"))
        try await cache?.invalidate(.stored(before: .now - 86_400))
        try await engine.invalidate(Request("https://api.example.com/cities"))
        try await engine.purge(Request("https://api.example.com/me"))
        print(try cache?.totals().diskBytes ?? 0, "bytes on disk")
        try await cache?.purge(where: { $0.bodySize > 1 << 20 })

        var request = Request("https://api.example.com/cities")
        request.cache = .staleWhileRevalidate(maxAge: .seconds(60))  // if the server sends no lifetime
        request.tags = ["cities"]  // to invalidate by
        let shown = try await engine.send(request)
        if shown.source == .stale {
            await engine.waitForRefresh(of: request)  // until its refresh in the background has ended
            print(try await engine.send(request).source)  // cache, if the server was reached
        }

        let list = Request("https://api.example.com/cities", cache: .networkElseCache)
        let answer = try await engine.send(list)
        print(answer.source, answer.age ?? .zero)  // stale 3600.0 seconds, if the server cannot be reached

        var search = Request("https://api.example.com/searches/7", method: .post, body: .json(["q": "berlin"]))
        search.cache.storesPost = true
        let found = try await engine.send(search)
        print(found.cacheStatus?.isStored ?? false)  // whether GETs of the URL are now answered from the cache
    }

    nonisolated struct Tokens: Decodable, Sendable {
        let access: String
        let refresh: String
    }

    nonisolated struct SignedOut: Error {}

    actor Session: RefreshableCredentialProvider {
        private let login = Engine(.init(store: nil))  // without this provider
        private var user: String?
        private var tokens: Tokens?

        func signIn(as user: String, password: String) async throws {
            let body = RequestBody.json(["user": user, "password": password])
            let call = Request("https://api.example.com/login", method: .post, body: body).decoding(Tokens.self)
            tokens = try await login.send(call)
            self.user = user
        }

        func signOut() { (user, tokens) = (nil, nil) }

        func identity(for request: Request) -> String? { user }
        func secret(_ name: String, for identity: String?) -> String? { identity == user ? tokens?.access : nil }

        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {
            guard identity == user, let tokens else { throw SignedOut() }
            let body = RequestBody.json(["refresh_token": tokens.refresh])
            let call = Request("https://api.example.com/token", method: .post, body: body).decoding(Tokens.self)
            let fresh = try await login.send(call)
            guard identity == user else { throw SignedOut() }  // signed out meanwhile
            self.tokens = fresh
        }
    }

    private func signingIn(password: String) async throws {
        let session = Session()
        var configuration = Engine.Configuration()
        configuration.credentials = session
        configuration.defaults = [
            RequestDefaults(
                under: "https://api.example.com/", credentials: [.bearer(.secret("access"))], tags: ["account"])
        ]
        let engine = Engine(configuration)
        try await session.signIn(as: "user-42", password: password)

        print(try await engine.send(Request("https://api.example.com/me")).text)

        await session.signOut()  // no further requests for this user
        engine.cancel { _ in true }  // connections, not awaited calls
        try await engine.forget(identity: "user-42")  // erases responses and cookies, and holds queued requests
        try await engine.queue().release(.identity("user-42"))
    }

    nonisolated struct Note: Codable, Sendable {
        let id: Int
        let text: String
    }

    nonisolated struct CreateNote: Endpoint {
        typealias Output = Note
        var text: String

        var request: Request {
            var request = Request("https://api.example.com/notes", method: .post, body: .json(["text": text]))
            request.replay = ReplayPolicy(.durable, orderingKey: "notes", metadata: ["text": .string(text)])
            request.tags = ["notes"]
            request.invalidates = ["notes"]  // lists with this tag are stale when the note is sent
            return request
        }
    }

    #if os(iOS) && canImport(SwiftUI)
    struct NoteList: View {
        let engine: Engine
        var body: some View { Text("Notes") }
    }

    struct NotesApp: App {
        @Environment(\.scenePhase) private var phase
        private let engine = Engine()

        var body: some Scene {
            WindowGroup { NoteList(engine: engine) }
                .onChange(of: phase) { _, phase in
                    let task = BGAppRefreshTaskRequest(identifier: "notes")
                    if phase == .background { try? BGTaskScheduler.shared.submit(task) }
                    Task { try? await engine.queue().allowSuddenTermination(phase == .background) }
                }
                .backgroundTask(.appRefresh("notes")) {
                    await (try? engine.replayer())?.replay(until: .now + 20)
                }
        }
    }
    #endif

    private func replaying(_ engine: Engine, until deadline: Date) async throws {
        func show(_ response: Response) {}
        var note = Request("https://api.example.com/notes", method: .post, body: .json(["text": "Hello"]))
        note.replay = .onFailure  // queued when the last attempt fails
        note.replay = .durable  // queued before the first attempt: survives the end of the program
        switch try await engine.submit(note) {
        case .sent(let response): show(response)
        case .queued(let job): print("\(job)")
        }
        let replayer = try engine.replayer()
        let replaying = Task { await replayer.run() }  // until the task is canceled
        let summary = await replayer.replay(until: deadline)  // or what can be sent until then
        try await engine.forget(identity: "user-42")  // sign-out
        try await engine.queue().release(.identity("user-42"))  // signed in again
        try await engine.forget(identity: "user-42", discardingJobs: true)  // the account was deleted
        engine.onReplay(CreateNote.self) { job, result in
            print("note of job \(job):", result)
        }
        print(replaying, summary)
    }

    private func observing(_ engine: Engine) async throws {
        let pending = ReplayFilter(states: [.ready, .waiting, .running, .held], tag: "notes")
        var changes = try engine.queue().changes.makeAsyncIterator()  // before the list, so that no change is missed
        repeat {
            for job in try engine.queue().jobs(pending) {
                if case .string(let text)? = job.metadata["text"] { print(text, job.state) }
            }
        } while try await changes.next() != nil
    }

    nonisolated struct AddNote: Endpoint {
        typealias Output = String
        var text: String

        var request: Request {
            get throws {
                var request = Request("notes", method: .post, body: .json(["text": text]))
                request.replay = try .durable.storing(self)
                return request
            }
        }
    }

    private func listing(_ queue: ReplayQueue) throws {
        for job in try queue.jobs() {
            if let note = try job.call(as: AddNote.self) { print(note.text, job.state) }
        }
    }

    private func replayingAutomatically() {
        var configuration = Engine.Configuration()
        configuration.replays = .automatically
        configuration.onReplay(CreateNote.self) { job, result in
            print("note of job \(job):", result)
        }
        let engine = Engine(configuration)
        print(engine)
    }

    private func callbacks(of engine: Engine, request: Request) async throws {
        let connection = engine.send(request, on: .main) { result in
            guard case .success(let response) = result else { return }
            print(response.text)
        }

        let owner = CancellationOwner()
        owner.own(engine.send(request) { result in print(result) })

        for await progress in connection.progress {
            print(progress.received, "of", progress.expectedToReceive ?? -1)
        }

        let saved = try connection.snapshot.json()
        let again = engine.connection(from: try ConnectionSnapshot(json: saved))
        engine.start(again)
    }

    // @unchecked: a lock guards its own state.
    nonisolated final class UserConnection: Connection, @unchecked Sendable {
        struct User: Decodable, Sendable { let name: String }
        let id: Int
        let user = Mutex<User?>(nil)

        init(id: Int) {
            self.id = id
            super.init(Request("users/\(segment: id)"))
        }

        override func copied() -> UserConnection { copySettings(to: UserConnection(id: id)) }

        override func prepare(_ request: inout Request) async throws {
            request.headers[.accept] = "application/json"
        }

        override func validate(_ response: Response) throws {
            guard response.status == .ok else { throw URLError(.badServerResponse) }
        }

        override func decode(_ response: Response) throws {
            let user = try response.decode(User.self)
            self.user.withLock { $0 = user }
        }
    }

    private func retrying() {
        var order = Request("https://api.example.com/orders", method: .post, body: .json(["city": "Berlin"]))
        order.headers[.idempotencyKey] = UUID().uuidString  // may be repeated
        order.retry = .interactive  // 10 seconds an attempt, 30 in all
        order.retry?.attempts = 5

        var report = Request("https://api.example.com/report")
        report.retry = .never

        var search = Request("https://api.example.com/cities", parameters: ["q": "ber"])
        search.retry = .interactive
        search.retry?.hedgeDelay = .milliseconds(300)

        var urgent = Request("https://api.example.com/cities", timeout: .seconds(20))  // 20 seconds without a byte
        urgent.retry = RetryPolicy(attempts: 5, deadline: .seconds(25))  // 25 seconds in all

        var configuration = Engine.Configuration()
        configuration.retry = .interactive  // for requests without a policy of their own
        print(order, report, search, urgent, configuration)
    }

    private func intercepting(sign: @escaping @Sendable (TransportRequest) async throws -> String) {
        nonisolated struct Signing: Interceptor {
            let sign: @Sendable (TransportRequest) async throws -> String

            func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
                request.headers[.authorization] = try await sign(request)
            }

            func transform(_ error: inout ConnectionError) async {
                if let detail = error.problem?.detail { error.message = detail }
            }
        }

        var configuration = Engine.Configuration()
        configuration.interceptors = [Signing(sign: sign), ResponseValidator.json]
        let engine = Engine(configuration)
        print(engine)
    }

    private func settings(keychain: any CredentialProvider, currentKey: String, nextKey: String) {
        var settings = TransportSettings()
        var proxy = Proxy("http://proxy.example.com:3128", username: "anna", password: .secret("proxy"))
        proxy.exceptions = ["localhost"]
        settings.proxy = .through(proxy)
        settings.tls.roots = .systemAnd(URL(filePath: "/etc/company/roots.pem"))
        settings.tls.minimumVersion = .v1_3
        settings.tls.pins = ["api.example.com": [currentKey, nextKey]]

        var configuration = Engine.Configuration()
        configuration.transportSettings = settings
        configuration.credentials = keychain
        let engine = Engine(configuration)
        print(engine)
    }

    private func cookies() async throws {
        let jar = CookieJar()
        var configuration = Engine.Configuration()
        configuration.cookies = jar
        let engine = Engine(configuration)

        var login = Request("https://api.example.com/login", method: .post, body: .json(["user": "anna"]))
        login.identity = "anna"
        _ = try await engine.send(login)  // the server sets a cookie

        var profile = Request("https://api.example.com/profile")
        profile.identity = "anna"
        print(try await engine.send(profile).text)  // and receives it

        try await engine.forget(identity: "anna")  // sign-out: erases responses and cookies
    }

    private func problems(of engine: Engine) async {
        nonisolated struct Order: Decodable {}
        nonisolated struct Fault: Decodable { let code: Int }

        do throws(ConnectionError) {
            let order = try await engine.send(Request("https://api.example.com/orders/7").decoding(Order.self))
            print(order)
        } catch {
            print(error.problem?.detail ?? error.message)
            if let fault = try? error.decode(Fault.self) { print(fault.code) }
        }
    }

    private func testing() async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.url.hasSuffix("/cities") else { return .stub(status: 404) }
            return .stub(headers: [.cacheControl: "max-age=60"], body: #"["Berlin"]"#)
        }
        let (clock, store) = (TestClock(), TemporaryStore())
        let engine = Engine(.init(testing: transport, clock: clock, store: store))

        let first = try await engine.send(Request("https://api.example.com/cities"))
        let second = try await engine.send(Request("https://api.example.com/cities"))
        clock.advance(by: .seconds(61))
        let third = try await engine.send(Request("https://api.example.com/cities"))
        print(first.source, second.source, third.source, transport.requests.count)  // network cache network 2
    }

    private func recording(to file: URL) async throws {
        var configuration = Engine.Configuration(store: nil)  // responses from a cache are not recorded
        let recorder = RecordingTransport(URLSessionTransport())  // or CurlTransport()
        configuration.transport = recorder
        let response = try await Engine(configuration).send(Request("https://api.example.com/cities"))
        try recorder.recording.write(to: file)

        let replayer = ReplayingTransport(try Recording(contentsOf: file))
        let again = try await Engine(.init(testing: replayer)).send(Request("https://api.example.com/cities"))
        print(response.body == again.body, replayer.unused.isEmpty)
    }

    private nonisolated struct Archive {
        let size: Int64 = 0

        func pieces() -> AsyncStream<Data> { AsyncStream { $0.finish() } }
    }

    private func uploading(_ engine: Engine, _ archive: Archive) async throws {
        do {
            let photo = RequestBody.file(URL(filePath: "photo.jpg"), contentType: "image/jpeg")
            let response = try await engine.send(Request("https://api.example.com/photos", method: .post, body: photo))
            print(response.status)
        }
        do {
            let request = Request("https://api.example.com/videos", method: .post, headers: [.contentType: "video/mp4"])
            let response = try await engine.upload(request, fromFile: URL(filePath: "video.mp4")) { progress in
                print(progress.fractionCompleted ?? 0)  // from 0 to 1
            }
            print(response.status)
        }
        do {
            let form = RequestBody.multipart([
                MultipartPart("title", "Sunset"),
                MultipartPart("photo", file: URL(filePath: "photo.jpg"), contentType: "image/jpeg"),
            ])
            let sent = try await engine.send(Request("https://api.example.com/forms", method: .post, body: form))
            print(sent.status)

            let upload = engine.start(Request("https://api.example.com/forms", method: .post, body: form))
            for await progress in upload.progress { print(progress.fractionCompleted ?? 0) }
            print(try await upload.response.status)
        }
        let backup = UploadSource(length: archive.size) { archive.pieces() }  // created again for every attempt
        let request = Request("https://api.example.com/files", method: .put, headers: [.contentType: "application/zip"])
        let response = try await engine.upload(request, from: backup) { progress in
            print(progress.fractionCompleted ?? 0)  // from 0 to 1
        }
        print(response.status)

        let (recording, microphone) = AsyncStream<Data>.makeStream()
        do {
            let source = UploadSource(once: recording)
            let request = Request("https://api.example.com/memos", method: .post)
            let response = try await engine.upload(request, from: source)
            print(response.status)
        }
        microphone.finish()
    }

    private func streaming(_ engine: Engine) async throws {
        var count = 0
        let streamed = try await engine.stream(Request("https://api.example.com/export"))
        print(streamed.status, streamed.headers[.contentType] ?? "")
        for try await piece in streamed.bytes {
            count += piece.count
        }
        do {
            var pieces = streamed.bytes.makeAsyncIterator()
            do throws(ConnectionError) {
                while let piece = try await pieces.next(isolation: #isolation) { count += piece.count }
            } catch {
                print(error.code, count)
            }
        }
        do {
            let streamed = try await engine.stream(Request("https://api.example.com/export"), sharing: true)
            _ = streamed
        }

        let file = URL(filePath: "cities.zip")
        let download = try await engine.download(Request("https://api.example.com/cities.zip"), to: file) { progress in
            print(progress.received, "of", progress.expectedToReceive ?? -1)
        }
        print(download.size)
        do {
            let request = Request("https://api.example.com/cities.zip")
            let connection = engine.start(request, to: file).onResult { result in
                print(result)
            }
            connection.pause()
            connection.resume()
        }
        do {
            let login = engine.connection(for: Request("https://api.example.com/login", method: .post))
            let download = engine.connection(for: Request("https://api.example.com/cities.zip"), to: file)
            download.queuePriority = .low
            download.addDependency(login)
            engine.start(download)
            print(try await download.download.size)
        }
    }

    private func sink(of engine: Engine) async throws {
        actor Checksum: DownloadSink {
            private var hash = SHA256()
            var value: SHA256Digest { hash.finalize() }

            func begin(_ head: Response) { hash = SHA256() }
            func write(_ piece: Data) { hash.update(data: piece) }
        }

        let checksum = Checksum()
        try await engine.download(Request("https://api.example.com/cities.zip"), to: checksum)
        print(await checksum.value)
    }

    private func events(of engine: Engine) async throws {
        nonisolated struct Answer: Decodable { let text: String }

        for try await event in engine.events(Request("https://api.example.com/prices")) {
            print(event.type, event.data, event.lastEventID)
        }

        var request = Request("https://api.example.com/chat", method: .post, body: .json(["prompt": "Hello"]))
        request.timeout = .seconds(300)
        let events = try engine.events(request).prefix { $0.data != "[DONE]" }  // `try` is for the closure
        for try await answer in events.decoded(as: Answer.self) {
            print(answer.text)
        }
    }

    private func lines(of engine: Engine) async throws {
        nonisolated struct City: Decodable { let name: String }

        let export = try await engine.stream(Request("https://api.example.com/cities.ndjson"))
        for try await city in export.values(of: City.self) {
            print(city.name)
        }
    }

    private func sealing(key: Data, keyOf2025: Data, keyOf2026: Data) async throws {
        var configuration = Engine.Configuration()
        configuration.seal = try AESGCMSeal(key: key)  // from the keychain: 32 random bytes
        let engine = Engine(configuration)
        await engine.close()

        configuration.seal = try AESGCMSeal(key: keyOf2026, id: "2026", olderKeys: ["2025": keyOf2025])
    }

    #if AsyncHTTPClient
    private func transport() async throws {
        let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow))
        var configuration = Engine.Configuration()
        configuration.transport = HTTPClientTransport(client)
        let engine = Engine(configuration)

        let response = try await engine.send(Request("https://api.example.com/cities"))
        print(response.source)

        await engine.close()
        try await client.shutdown()
    }
    #endif

    private func watching(_ engine: Engine) async {
        var spinner = Spinner()
        print(engine.activity.counts.inFlight, engine.activity.snapshot.lanes[.images]?.queued ?? 0)
        for connection in engine.connections { print(connection.request, connection.state) }

        for await now in engine.activity.changes { print(now.counts) }

        await engine.activity.idle()

        let indicator = engine.activity.indicator()
        for await isVisible in indicator.visibility { spinner.isHidden = !isVisible }

        let observation = engine.activity.observe { event in
            switch event {
            case .began(let interval): print(interval.kind, interval.method, interval.url)
            case .ended(let interval, let outcome): print(interval.kind, outcome.status?.code ?? 0, outcome.error ?? "")
            case .cacheFailed(let reason): print(reason)
            default: break
            }
        }
        withExtendedLifetime(observation) {}

        let resumptions = engine.activity.observe { event in
            if case .transferResumed(let origin, let offset, let total) = event {
                print("\(origin): resumed at \(offset) of \(total) bytes")
            }
        }
        withExtendedLifetime(resumptions) {}
    }

    private struct Spinner {
        var isHidden = true
    }

    private func recordedEvents() {
        var configuration = Engine.Configuration()
        configuration.recordsEvents = true
    }

    #if Logging && Metrics && Tracing
    private func observers() {
        var configuration = Engine.Configuration()
        configuration.observers = [LogObserver(), MetricsObserver(), TracingObserver()]

        var logger = Logger(label: "api")
        logger.logLevel = .debug
        configuration.observers = [LogObserver(logger)]
    }
    #endif

    private func landingPage() async throws {
        let engine = Engine()
        var request = Request("https://api.example.com/cities", parameters: ["country": "DE", "page": 1])
        request.cache = .automatic(maxAge: .seconds(60))
        let response = try await engine.send(request)
        print(response.status.code, response.source, response.body.count)
    }
}
extension String {
    /// Lines without white space at either end, empty ones left out.
    fileprivate var lines: [String] {
        split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    fileprivate var swiftBlocks: [String] {
        components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }
}

extension Lane {
    static let images = Lane("images")
    static let api = Lane("api")
}
