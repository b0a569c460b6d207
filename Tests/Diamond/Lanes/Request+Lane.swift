import Diamond

extension Request {
    init(_ url: String, _ lane: Lane) {
        self.init(url)
        self.lane = lane
    }
}
