/// The isolation domain of tests in which calls run at the same time. Not the main actor, where tests that last hold up all
/// others.
@globalActor
actor ModelActor {
    static let shared = ModelActor()
}
