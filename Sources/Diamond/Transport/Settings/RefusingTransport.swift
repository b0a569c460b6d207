/// A transport that fails every request. It replaces a transport whose settings cannot be applied, so that nothing is
/// sent with other settings.
struct RefusingTransport: Transport {
    let refusal: TransportError

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse { throw refusal }

    func close() async {}
}
