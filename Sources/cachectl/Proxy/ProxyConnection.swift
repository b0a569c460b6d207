#if Tools
import Diamond
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A client's connection. It serves one request after another.
struct ProxyConnection: Sendable {
    typealias Parts = NIOAsyncChannelInboundStream<RequestPart>.AsyncIterator

    let proxy: ReverseProxy
    let channel: any Channel
    let phase: ConnectionPhase
    let presence: ClientPresence
    let peer: ProxyPeer
    let outbound: NIOAsyncChannelOutboundWriter<ResponsePiece>
    let window: WriteWindow
    private let linger: ConnectionLinger

    init(_ value: ProxyChannel.Value, proxy: ReverseProxy, outbound: NIOAsyncChannelOutboundWriter<ResponsePiece>) {
        self.proxy = proxy
        channel = value.channel
        phase = value.phase
        presence = value.presence
        peer = value.peer
        self.outbound = outbound
        let window = WriteWindow(proxy.budget)
        self.window = window
        linger = ConnectionLinger(channel, limit: proxy.clientTimeout)
        channel.closeFuture.whenComplete { _ in window.close() }
    }

    /// Serves requests until the client leaves or the connection cannot serve another one.
    @concurrent
    func run(_ inbound: NIOAsyncChannelInboundStream<RequestPart>) async {
        var parts = inbound.makeAsyncIterator()
        do {
            while !phase.isQuiescing {
                guard case .head(let head, let request)? = try await parts.next(),
                    try await serve(head, request: request, parts: &parts)
                else { break }
            }
        } catch {
            await refuse(RequestFailure(error))
        }
        await close(&parts)
    }

    /// Answers a request that cannot be read.
    private func refuse(_ failure: RequestFailure) async {
        guard let problem = failure.problem else { return }
        let body = problem.response.body
        let response = ProxyResponse(
            problem.response, to: nil, of: proxy.site, isForHead: failure.isForHead, keepsAlive: false)
        guard let bytes = response.bytes(with: body) else { return }
        try? await outbound.write(ResponsePiece(bytes: bytes))
        let count = failure.isForHead ? 0 : body.count
        proxy.log.write(problem, for: failure, at: proxy.site, from: peer.address, bytes: count)
    }

    // Reads what the client has sent meanwhile. Otherwise closing the socket would reset the connection, and the client
    // would lose the response.
    @concurrent
    private func close(_ parts: inout Parts) async {
        await endOutput()
        while (try? await parts.next()) != nil, linger.isOpen { linger.extend() }
        try? await channel.closeFuture.get()
    }

    /// Tells the client that nothing follows the response, and begins the time in which it may close the connection.
    private func endOutput() async {
        // Waits until all writes have reached the socket. `ClientLimits` ends this if the client makes no progress.
        try? await channel.writeAndFlush(ResponsePiece()).get()
        outbound.finish()
        linger.extend()
    }

    /// Serves a request.
    ///
    /// - Returns: whether the connection may serve another one.
    @concurrent
    private func serve(
        _ head: HTTPRequestHead, request: Result<ProxyRequest, ProxyProblem>, parts: inout Parts
    ) async throws -> Bool {
        do {
            guard !peer.isSurplus else { throw ProxyProblem.tooManyClients }
            return try await serve(request.get(), parts: &parts)
        } catch {
            throw RequestFailure(error, head: head)
        }
    }

    @concurrent
    private func serve(_ received: ProxyRequest, parts: inout Parts) async throws -> Bool {
        let start = ContinuousClock.now
        var request = received
        request.addForwarded(from: peer.address)
        let client = ProxyClient(request, of: self)
        defer { withExtendedLifetime(client) {} }
        let answer = request.ownAnswer()
        if request.content == .none {
            // Reads the end of the request.
            _ = try await parts.next()
            await respond(to: request, own: answer, upload: nil, client: client)
        } else {
            try await receive(request, own: answer, client: client, parts: &parts)
        }
        proxy.log.write(await client.record, of: request, at: proxy.site, from: peer.address, since: start)
        return await client.keepsAlive
    }

    /// Reads the body of a request while the exchange sends it.
    @concurrent
    private func receive(
        _ request: ProxyRequest, own answer: Response?, client: ProxyClient, parts: inout Parts
    ) async throws {
        let pipe = UploadPipe()
        async let response: Void = respond(to: request, own: answer, upload: pipe, client: client)
        do {
            try await pump(request, into: pipe, client: client, parts: &parts)
        } catch {
            pipe.fail()
            await response
            // If there is no response yet, the exchange has failed because of the body.
            guard await client.isWaiting else { return }
            throw error
        }
        await response
    }

    @concurrent
    private func pump(
        _ request: ProxyRequest, into pipe: UploadPipe, client: ProxyClient, parts: inout Parts
    ) async throws {
        if request.expectsContinue {
            guard await pipe.waitUntilWanted() else { return }
            try await client.proceed()
        }
        while true {
            phase.begin(.body)
            let part = try await parts.next()
            phase.begin(.response)
            switch part {
            case .body(let buffer): guard await pipe.send(Data(buffer.readableBytesView)) else { return }
            case .end:
                await client.noteWholeRequest()
                return pipe.finish()
            case .head, nil: throw UploadPipe.Broken()
            }
        }
    }

    private func respond(
        to request: ProxyRequest, own answer: Response?, upload pipe: UploadPipe?, client: ProxyClient
    ) async {
        defer { pipe?.stop() }
        do {
            guard !request.hasLooped else { return try await client.send(ProxyProblem.loop) }
            if let answer { return try await client.send(answer) }
            try await forward(request, upload: pipe, client: client)
        } catch let error as ConnectionError {
            guard await client.isWaiting, error.code != .cancelled else { return abort() }
            // `receive` throws the reason why the body ends early.
            guard !error.isOfBody else { return }
            try? await client.send(await problem(of: error, with: request))
        } catch {
            abort()
        }
        // The body was not read to its end, so the connection closes after the response.
        if let pipe, await !client.keepsAlive {
            pipe.stop()
            await endOutput()
        }
    }

    /// Returns the problem that answers a failed request. Its status is 504 if a response is stored that may not be
    /// served stale (RFC 9111 section 5.2.2.2).
    private func problem(of error: ConnectionError, with request: ProxyRequest) async -> ProxyProblem {
        let problem = ProxyProblem(error)
        let preview = try? await proxy.engine.preview(of: proxy.request(request))
        guard problem.status == .badGateway, preview?.stored != nil else { return problem }
        return ProxyProblem(.gatewayTimeout, problem.detail, reason: problem.reason)
    }

    private func forward(_ request: ProxyRequest, upload pipe: UploadPipe?, client: ProxyClient) async throws {
        let forwarded = proxy.request(request)
        var length: Int64?
        if case .length(let count) = request.content { length = count }
        // A body of HEAD has no meaning (RFC 9110 section 9.3.2). It is not forwarded.
        let upload = request.method == .head ? nil : pipe.map { UploadSource(once: $0, length: length) }
        // A response that is being stored is for other clients, too.
        try await presence.whilePresent(unless: { await client.isStored }) {
            try await proxy.engine.forward(forwarded, target: request.target, upload: upload, to: client)
        }
        try await client.end()
    }

    /// Closes the connection at once, so that the client notices that the response is incomplete.
    private func abort() { channel.close(promise: nil) }
}

extension ConnectionError {
    /// Whether the body of the request could not be read from the client.
    fileprivate var isOfBody: Bool { (cause as? TransportError)?.code == .badRequestBody }
}
#endif
