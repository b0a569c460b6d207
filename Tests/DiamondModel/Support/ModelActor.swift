/// The isolation domain of tests with concurrent calls. Not the main actor, where a long test delays all others.
@globalActor
actor ModelActor {
    static let shared = ModelActor()
}
